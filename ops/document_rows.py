"""The ledger row of a document, by its id as a person writes it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from functions.core.identity import DocumentId, document_id, item_key, row_key
from functions.core.ledger_row import LedgerRow
from ops.output import UsageError

if TYPE_CHECKING:
    from ops.deployment import Deployment


def find_row(
    deployment: "Deployment", written: str, *, source: str | None, target: str | None
) -> LedgerRow | None:
    """Return the row of a document, if there is one."""
    origin, goal = deployment.source(source), deployment.target(target)
    keys = [row_key(goal.name, origin.name, one) for one in possible_ids(written, origin.key)]
    found = deployment.ledger.read(keys)
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


def possible_keys(written: str, attributes: Sequence[str]) -> list[dict[str, str]]:
    """Return the keys that a person may mean.

    The values of a composite key are written as they are in the table, with | between them: a
    value may hold one too. Or they are copied from an id, which spells such values otherwise.
    """
    if len(attributes) == 1:
        return [{attributes[0]: written}]
    parts = written.split("|")
    pairs: list[tuple[str, ...]] = [
        ("|".join(parts[:n]), "|".join(parts[n:])) for n in range(1, len(parts))
    ]
    if len(parts) == len(attributes):
        copied = item_key(DocumentId(written), dict.fromkeys(attributes, "S"))
        pairs.append(tuple(copied[name]["S"] for name in attributes))
    return [dict(zip(attributes, pair, strict=True)) for pair in dict.fromkeys(pairs)]
