"""Table, ledger, index and events after the storm: every document must agree everywhere."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.storm.leaks import leaks
from benchmarks.storm.operations import Content, Operation
from benchmarks.storm.texts import item
from benchmarks.storm.world import World
from functions.adapters.opensearch_reader import OpenSearchReader
from functions.core.batches import batches
from functions.core.document import Document, content_hash, read_document
from functions.core.identity import DocumentId, RowKey, row_key
from functions.core.ledger_row import LedgerRow, Status
from functions.core.task import Task
from local.stack import API_KEY
from ops.dead_queue import visit
from ops.verification import differences

PAGE_ENTRIES = 1000
ROUND_ROWS = 100
FAILED = {str(status) for status in Status if status.is_failed}

# Document and version -> the statuses that were announced for it.
Announced = Mapping[tuple[str, int], set[str]]


@dataclass
class Verdict:
    """What is wrong, by kind, each with its document; and how the documents ended."""

    lost: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    resurrected: list[str] = field(default_factory=list)
    without_end: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    not_announced: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    not_failed: list[str] = field(default_factory=list)
    endings: Counter[str] = field(default_factory=Counter)

    @property
    def kinds(self) -> dict[str, list[str]]:
        """Name each kind of violation with its cases."""
        return {
            "lost": self.lost,
            "stale": self.stale,
            "resurrected": self.resurrected,
            "without an end": self.without_end,
            "failed without a reason": self.unexplained,
            "not announced": self.not_announced,
            "table, ledger and index differ": self.different,
            "texts, vectors or keys in the output": self.leaked,
            "dead letters of documents that have not failed": self.not_failed,
        }

    def violations(self) -> list[str]:
        """Name everything that must not be."""
        return [f"{kind}: {case}" for kind, cases in self.kinds.items() for case in cases]


def final_contents(operations: Iterable[Operation]) -> dict[str, Content | None]:
    """Return what each document holds in the end; None: it is deleted."""
    return {one.document: one.content for one in operations}


def dead_tasks(world: World) -> list[Task]:
    """Return the tasks of all dead letters."""
    urls = world.deployment.dead_letter_urls(world.target.name)
    letters = [letter for url in urls for letter in visit(world.deployment.sqs, url)]
    return [letter.task for letter in letters if letter.task]


def check(world: World, finals: Mapping[str, Content | None], dead: Collection[Task]) -> Verdict:
    """Compare everything that each document left behind; `dead` was dead before the redrive."""
    verdict = Verdict()
    # Refreshes the index, too.
    verdict.different += differences(world.deployment)
    verdict.leaked += leaks(_output(world), key=API_KEY)
    entries = dict(_live_entries(world))
    rows = _rows(world, finals)
    announced = _announced(world.stack.events_file)
    verdict.not_failed += [
        f"{task.document_id} at version {task.version}"
        for task in dead
        if FAILED.isdisjoint(announced.get((task.document_id, task.version), set()))
    ]
    for name, content in finals.items():
        row = rows.get(_key(world, name))
        if row is None:
            verdict.lost.append(f"{name} has no row in the ledger")
            continue
        verdict.endings[str(row.status)] += 1
        _check_row(verdict, name, row, announced)
        if not row.status.is_failed:
            _check_entry(verdict, name, _wanted_hash(world, name, content), entries.get(name))
    unknown = [name for name in entries if name not in finals]
    verdict.resurrected += [f"{name} was never written" for name in unknown]
    return verdict


def _check_row(verdict: Verdict, name: str, row: LedgerRow, announced: Announced) -> None:
    if row.status.is_open or row.is_healing:
        verdict.without_end.append(f"{name} is {row.status} at version {row.task.version}")
        return
    if row.status.is_failed and not (row.outcome.reason and row.errors):
        verdict.unexplained.append(f"{name} is {row.status} at version {row.task.version}")
    if str(row.status) not in announced.get((name, row.task.version), set()):
        verdict.not_announced.append(f"{name} is {row.status} at version {row.task.version}")


def _check_entry(verdict: Verdict, name: str, wanted: str | None, found: str | None) -> None:
    if wanted is None and found is not None:
        verdict.resurrected.append(f"{name} can be found")
    elif wanted is not None and found is None:
        verdict.lost.append(f"{name} is not in the index")
    elif wanted != found:
        verdict.stale.append(f"{name} is in the index with another content")


def _wanted_hash(world: World, name: str, content: Content | None) -> str | None:
    if content is None:
        return None
    document = read_document(item(name, content), world.source)
    return content_hash(document, world.target) if isinstance(document, Document) else None


def _rows(world: World, names: Iterable[str]) -> dict[RowKey, LedgerRow]:
    found: dict[RowKey, LedgerRow] = {}
    for part in batches([_key(world, name) for name in names], ROUND_ROWS):
        found |= world.deployment.ledger.read(part)
    return found


def _key(world: World, name: str) -> RowKey:
    return row_key(world.target.name, world.source.name, DocumentId(name))


def _live_entries(world: World) -> Iterator[tuple[str, str]]:
    """Yield the document and content hash of every entry that a search can find."""
    reader = OpenSearchReader(world.deployment.index, world.target.index)
    last: str | None = None
    while entries := reader.page(world.source.name, after=last, most=PAGE_ENTRIES):
        yield from ((one.document_id, one.content_hash or "") for one in entries)
        last = entries[-1].document_id


def _output(world: World) -> Iterator[str]:
    """Yield every line that functions, engines and the runner have written, and every event."""
    files = [*world.folder.rglob("*.log"), world.stack.events_file]
    for path in filter(Path.is_file, files):
        yield from path.read_text(errors="replace").splitlines()


def _announced(events: Path) -> Announced:
    announced: dict[tuple[str, int], set[str]] = {}
    for line in events.read_text().splitlines() if events.exists() else ():
        detail = json.loads(line)["detail"]
        announced.setdefault((detail["document_id"], detail["version"]), set()).add(
            detail["status"]
        )
    return announced
