"""An application that writes articles, on a pipeline that can be watched, failed and killed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st

from functions.core.entry import Entry
from functions.core.failure import Failure, FailureKind
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import HARMLESS, Swapped
from functions.core.retry_policy import PRESETS, Healing, RetrySettings
from functions.core.settings import BreakerSettings
from local.memory.index import HashedEmbedder
from local.memory.ledger import MemoryLedger
from tests.builders import make_pipeline
from tests.fake_embedder import FakeEmbedder

if TYPE_CHECKING:
    from local.memory.pipeline import MemoryPipeline

DIMENSIONS = 16
# 1, 2 and 4 seconds, and then the dead letters.
QUICK = RetrySettings(default=PRESETS["quick"], healing=Healing(hours=0))
# The breaker stays out of what is not about it.
PATIENT_BREAKER = BreakerSettings(least_requests=10_000)

# At least a hundred examples each; a slow machine is no failure.
thorough = settings(max_examples=100, deadline=None)


@dataclass(frozen=True)
class Write:
    """What an application does with one article; without a text it is deleted."""

    name: str
    text: str | None


NAMES = st.sampled_from(("a", "b", "c"))
TEXTS = st.sampled_from(("alpha", "beta gamma", "delta epsilon zeta", ""))
WRITES = st.lists(st.builds(Write, NAMES, st.none() | TEXTS), min_size=1, max_size=8)
CHARGED = st.sampled_from(
    (
        FailureKind.TIMEOUT,
        FailureKind.PROVIDER_ERROR,
        FailureKind.RESOURCE,
        FailureKind.UNKNOWN,
    )
)


class WatchedLedger(MemoryLedger):
    """Remembers every row as it was stored, and tells it at once.

    A row that is written as it stands, after its end was announced again, is no new stage.
    """

    def __init__(self, watch: Callable[[LedgerRow], None] = lambda _: None) -> None:
        super().__init__()
        self.history: list[LedgerRow] = []
        self.watch = watch

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        before = dict(self.rows)
        swapped = super().write(rows)
        self.history += [
            row for key, row in swapped.stored.items() if not _is_same(before.get(key), row)
        ]
        for row in swapped.stored.values():
            self.watch(row)
        return swapped


def _is_same(before: LedgerRow | None, after: LedgerRow) -> bool:
    return before is not None and replace(before, revision=after.revision) == after


def failures_of(kinds: Sequence[FailureKind | None]) -> list[Failure | None]:
    """Return one failure for each kind."""
    return [None if kind is None else Failure(kind, "as listed") for kind in kinds]


class Articles:
    """The application's own memory of what it wrote, beside the pipeline."""

    def __init__(self, failures: Sequence[FailureKind | None] = (), **changes: Any) -> None:
        # A probe is no document: its text never fails.
        self.provider = FakeEmbedder(DIMENSIONS, failures=failures_of(failures), spares=HARMLESS)
        self.ledger = changes.pop("ledger", None) or WatchedLedger()
        target = {"retry": QUICK, "breaker": PATIENT_BREAKER, "dimensions": DIMENSIONS}
        self.pipeline: MemoryPipeline = make_pipeline(
            source={"priority_attribute": "priority", **changes.pop("source", {})},
            target=target | changes.pop("target", {}),
            embedders={"default": self.provider},
            ledger=self.ledger,
            **changes,
        )
        self.written: dict[str, str] = {}

    def write(self, write: Write) -> None:
        """Put, edit or delete an article."""
        table = self.pipeline.tables["articles"]
        if write.text is None:
            self.written.pop(write.name, None)
            table.delete({"id": write.name})
        else:
            self.written[write.name] = write.text
            table.put({"id": write.name, "body": write.text})
        self.pipeline.clock.advance(0.001)

    def stored(self) -> dict[str, str]:
        """Return the texts that the table holds."""
        items = self.pipeline.tables["articles"].items.values()
        return {item["id"]["S"]: item["body"]["S"] for item in items}

    def searchable(self) -> dict[str, str]:
        """Return the texts that the index holds."""
        return {
            entry.document_id: " ".join(chunk.text for chunk in entry.chunks)
            for entry in self.pipeline.indexes["default"].entries.values()
            if isinstance(entry, Entry)
        }

    def found(self, text: str) -> dict[str, tuple[str, float]]:
        """Search for a text; return what is found, with its score."""
        [vector] = HashedEmbedder(DIMENSIONS).embed([text], timeout_seconds=1).vectors
        hits = self.pipeline.indexes["default"].search(vector)
        return {hit.document_id: (hit.text, hit.score) for hit in hits}

    def work(self) -> int:
        """Run embed once on each lane; return how many messages it took."""
        return sum(self.pipeline.run(name) for name in self.pipeline.queues.names)

    def finish(self) -> None:
        """Let everything come to its end, undisturbed."""
        self.provider.failures.clear()
        self.provider.meanwhile = lambda: None
        self.pipeline.drain()

    def rows(self) -> dict[str, LedgerRow]:
        """Return the rows by document."""
        return {row.task.document_id: row for row in self.ledger.rows.values()}

    def wanted(self) -> dict[str, str]:
        """Return what the index is to hold in the end: every article that has a text."""
        return {name: text for name, text in self.written.items() if text}


def is_closed(row: LedgerRow) -> bool:
    """Tell whether nothing is owed any more."""
    return row.status in (Status.COMPLETED, Status.DELETED, Status.SKIPPED)
