"""The whole flow in one process: the real steps on the in-memory engines."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from functions.adapters.dynamodb_stream import parse_records
from functions.core.identity import DocumentId, row_key
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Embedder
from functions.core.settings import SourceSettings, TargetSettings
from functions.embed.process import Embed, build_embed
from functions.enqueue.process import Enqueue
from local.memory.clock import MovableClock
from local.memory.embedder import HashedEmbedder
from local.memory.index import MemoryIndex
from local.memory.ledger import MemoryLedger
from local.memory.queues import MemoryQueues
from local.memory.stash import MemoryStash
from local.memory.table import MemorySource, MemoryTable
from local.memory.telemetry import MemoryTelemetry

RUN_SECONDS = 120.0
BATCH = 10
MAX_ROUNDS = 10_000


class MemoryPipeline:
    """Tables, stream, lanes, functions and indexes, driven by hand."""

    def __init__(
        self,
        sources: Sequence[SourceSettings],
        targets: Sequence[TargetSettings],
        *,
        embedders: Mapping[str, Embedder] | None = None,
        indexes: Mapping[str, MemoryIndex] | None = None,
        ledger: MemoryLedger | None = None,
        around: Callable[[Any, set[str]], Any] = lambda box, _: box,
    ) -> None:
        """`around` may wrap each box that a function talks to: given the box and its calls."""
        self.clock = MovableClock()
        self.telemetry = MemoryTelemetry()
        self.ledger = ledger or MemoryLedger()
        self.queues = MemoryQueues(self.clock)
        self.tables = {source.name: MemoryTable(source, self.clock) for source in sources}
        self.indexes = indexes or {
            target.name: MemoryIndex(target.dimensions) for target in targets
        }
        self.embedders = embedders or {
            target.name: HashedEmbedder(target.dimensions) for target in targets
        }
        self._sources = list(sources)
        self.read = dict.fromkeys(self.tables, 0)
        guarded_ledger = around(self.ledger, {"read", "write"})
        queue = around(self.queues, {"send"})
        self.enqueue = Enqueue(
            ledger=guarded_ledger,
            queue=queue,
            telemetry=self.telemetry,
            clock=self.clock,
            sources={source.name: source for source in sources},
            targets={target.name: target for target in targets},
        )
        self.embed: dict[str, Embed] = {
            target.name: build_embed(
                source=around(MemorySource(self.tables), {"read"}),
                ledger=guarded_ledger,
                queue=queue,
                embedder=around(self.embedders[target.name], {"embed"}),
                index=around(self.indexes[target.name], {"read", "write"}),
                stash=MemoryStash(),
                telemetry=self.telemetry,
                clock=self.clock,
                jitter=lambda: 0.0,
                sources=[source for source in sources if target.name in source.targets],
                target=target,
            )
            for target in targets
        }

    def deliver(self, records: Iterable[Mapping[str, Any]]) -> list[str]:
        """Give stream records to enqueue; return the sequence numbers that failed."""
        changes, rejected = parse_records(records, self._sources)
        self.enqueue.reject(rejected)
        return self.enqueue.process(changes)

    def deliver_new(self) -> None:
        """Give enqueue what each stream has had since the last time."""
        for name, table in self.tables.items():
            end = len(table.stream)
            records = table.stream[self.read[name] : end]
            if records:
                self.deliver(records)
                self.read[name] = max(end, self.read[name])

    def run(self, queue: str, most: int = BATCH, seconds: float = RUN_SECONDS) -> int:
        """Run embed once on a batch of a lane; return how many messages it took."""
        messages = self.queues.receive(queue, most)
        if messages:
            target = queue.split("/")[0]
            failed = set(self.embed[target].process(messages, lambda: seconds))
            for message in messages:
                if message.message_id not in failed:
                    self.queues.acknowledge(message)
        return len(messages)

    def drain(self, *, advance_seconds: float = 130) -> None:
        """Run everything, moving the clock over every backoff, until the lanes are empty."""
        self.deliver_new()
        for _ in range(MAX_ROUNDS):
            names = self.queues.names
            if not any(self.run(name) for name in names):
                if not any(self.queues.depth(name) for name in names):
                    return
                self.clock.advance(advance_seconds)
        raise RuntimeError(f"the lanes are not empty after {MAX_ROUNDS} rounds")

    def row(self, document: str, *, source: str, target: str = "default") -> LedgerRow | None:
        """Return the ledger row of a document."""
        return self.ledger.rows.get(row_key(target, source, DocumentId(document)))
