"""The ledger row of a document, by its id as a person writes it."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from functions.core.identity import DocumentId, RowKey, document_id, row_key
from functions.core.ledger_row import LedgerRow
from ops.items import NUMBER, ids_by_type, possible_keys
from ops.output import UsageError

if TYPE_CHECKING:
    from ops.deployment import Deployment


def find_row(
    deployment: "Deployment", written: str, *, source: str | None, target: str | None
) -> LedgerRow | None:
    """Return the row of a document, if there is one."""
    origin, goal = deployment.source(source), deployment.target(target)

    def rows(ids: Iterable[DocumentId]) -> dict[RowKey, LedgerRow]:
        return deployment.ledger.read(row_key(goal.name, origin.name, one) for one in ids)

    # As it is written first: that asks no table for the types of its key.
    found = rows(possible_ids(written, origin.key))
    if not found and any(map(NUMBER.fullmatch, written.split("|"))):
        found = rows(ids_by_type(deployment, origin, written))
    if len(found) > 1:
        names = ", ".join(repr(row.task.document_id) for row in found.values())
        raise UsageError(f"which one? {written!r} may be any of these documents: {names}")
    return next(iter(found.values()), None)


def read_row(
    deployment: "Deployment", written: str, *, source: str | None, target: str | None
) -> LedgerRow:
    """Return the row of a document, or say why there may be none."""
    row = find_row(deployment, written, source=source, target=target)
    if row is None:
        place = f"{deployment.target(target).name}/{deployment.source(source).name}/"
        if written.startswith(place):
            raise UsageError(f"name the document alone: {written.removeprefix(place)!r}")
        raise UsageError(
            f"the ledger has no row {place}{written}: it was never written, or only a moment ago,"
            " it was completed more than 30 days ago, or deleted more than a day ago"
        )
    return row


def possible_ids(written: str, attributes: Sequence[str]) -> list[DocumentId]:
    """Return the ids that a person may mean: as the ledger has it, or of a key as it is written."""
    keys = [
        {name: {"S": value} for name, value in key.items()}
        for key in possible_keys(written, attributes)
    ]
    return list(dict.fromkeys([DocumentId(written), *(document_id(k, attributes) for k in keys)]))
