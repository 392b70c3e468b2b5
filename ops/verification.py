"""Table against index, document by document: what should be found, and what is."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from functions.core.batches import batches
from functions.core.document import Document, Unusable, content_hash, read_document
from functions.core.entry import StoredEntry
from functions.core.entry_shape import SUMMARY_FIELDS, stored
from functions.core.identity import DocumentId, document_id, entry_id, row_key
from functions.core.ledger_row import LedgerRow
from functions.core.settings import SourceSettings, TargetSettings
from ops.frame import SOURCE, TARGET, Noun
from ops.output import FAILED, OK, Answer, progress

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("State")
# BatchGetItem's limit, and a small answer of OpenSearch's.
ROUND_DOCUMENTS = 100

Item = Mapping[str, Any]


class Differences(Answer):
    """Every document whose entry is not what its item asks for."""

    differences: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        return FAILED if self.differences else OK

    def view(self) -> Iterable[str]:
        return self.differences or ["table and index agree"]


@NOUN.stack_command(SOURCE, TARGET, examples=["verify", "verify --stage prod --source articles"])
def verify(
    deployment: "Deployment", *, source: str | None = None, target: str | None = None
) -> Differences:
    """Compare a table with its index; exit with 1 if they differ."""
    return Differences(differences=tuple(differences(deployment, source=source, target=target)))


def differences(
    deployment: "Deployment", *, source: str | None = None, target: str | None = None
) -> list[str]:
    """Name every document whose entry or ledger row is not what its item asks for."""
    origin, goal = deployment.source(source), deployment.target(target)
    # What was written a moment ago is compared too.
    deployment.ask_index(goal.name, "_refresh")
    found: list[str] = []
    searchable = 0
    parts = list(batches(list(_items(deployment, origin)), ROUND_DOCUMENTS))
    for part in progress(parts, "comparing"):
        keys = {name: row_key(goal.name, origin.name, name) for name, _ in part}
        entries = _entries(deployment, goal, origin, keys)
        rows = deployment.ledger.read(keys.values())
        for name, item in part:
            wanted = read_document(item, origin)
            searchable += isinstance(wanted, Document)
            why = _difference(wanted, entries.get(name), rows.get(keys[name]), goal)
            found += [] if why is None else [f"{name}: {why}"]
    live = deployment.count_searchable(goal.name, origin.name)
    if live > searchable:
        found.append(f"{live} documents can be found, and the table has {searchable}")
    return found


def _difference(
    wanted: Document | Unusable,
    entry: StoredEntry | None,
    row: LedgerRow | None,
    target: TargetSettings,
) -> str | None:
    found = None if entry is None or entry.deleted else entry
    if isinstance(wanted, Unusable):
        return f"can be found, although {wanted.reason}" if found else None
    if found is None:
        return "not in the index"
    if found.content_hash != content_hash(wanted, target):
        return "the index holds another text or other metadata"
    version = found.version
    # Rows of documents that were completed long ago have expired.
    if row is not None and (row.task.version != version or not row.status.is_searchable):
        return (
            f"the index holds version {version}, the ledger says {row.status} at {row.task.version}"
        )
    return None


def _items(deployment: "Deployment", source: SourceSettings) -> Iterator[tuple[DocumentId, Item]]:
    from functions.adapters.dynamodb_values import event_key, from_dynamodb

    pages = deployment.client("dynamodb").get_paginator("scan")
    for page in pages.paginate(TableName=source.table, ConsistentRead=True):
        for item in page["Items"]:
            yield document_id(event_key(item, source.key), source.key), from_dynamodb(item)


def _entries(
    deployment: "Deployment",
    target: TargetSettings,
    source: SourceSettings,
    names: Iterable[DocumentId],
) -> dict[DocumentId, StoredEntry]:
    ids = {entry_id(source.name, name): name for name in names}
    wanted = {"_source_includes": SUMMARY_FIELDS}
    answer = deployment.ask_index(target.name, "_mget", {"ids": list(ids)}, wanted)
    return {ids[doc["_id"]]: stored(doc) for doc in answer["docs"] if doc.get("found")}
