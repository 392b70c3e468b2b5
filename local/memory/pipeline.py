"""The whole flow in one process: the real steps on the in-memory engines."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from functions.adapters.dynamodb_stream import parse_records
from functions.backfill.build import build_backfill
from functions.breaker.process import Reconcile
from functions.core.identity import DocumentId, row_key
from functions.core.lane import lanes_of, queue_name
from functions.core.ledger_row import Group, LedgerRow
from functions.core.ports import Clock, Embedder
from functions.core.settings import (
    BreakerTarget,
    Ordering,
    SourceSettings,
    TargetSettings,
    VerifySettings,
)
from functions.embed.build import build_embed
from functions.embed.process import Embed
from functions.enqueue.process import Enqueue
from functions.sweep.build import build_sweep
from local.memory.control import MemoryControl, MemoryMappings, MemoryProber
from local.memory.index import HashedEmbedder, MemoryIndex, MemoryIndexAdmin
from local.memory.jobs import MemoryErrands, MemoryJobs, MemoryProofs
from local.memory.ledger import MemoryCursors, MemoryLedger, MemoryStash
from local.memory.queues import Chance, MemoryQueues
from local.memory.runtime import MemoryAnnouncer, MemoryTelemetry, MovableClock
from local.memory.table import MemoryFailedChanges, MemorySource, MemoryTable, MemoryTables

RUN_SECONDS = 120.0
BATCH = 10
MAX_ROUNDS = 10_000
CONTROL_METHODS = {
    "read",
    "count",
    "swap",
    "cool",
    "claim",
    "warm",
    "note_index",
    "reserve",
    "settle",
}
READER_METHODS = {"summaries", "without_vectors", "page", "sums"}


class MemoryPipeline:
    """Tables, stream, lanes, functions and indexes, run step by step by the caller."""

    def __init__(
        self,
        sources: Sequence[SourceSettings],
        targets: Sequence[TargetSettings],
        *,
        embedders: Mapping[str, Embedder] | None = None,
        indexes: Mapping[str, MemoryIndex] | None = None,
        ledger: MemoryLedger | None = None,
        control: MemoryControl | None = None,
        telemetry: MemoryTelemetry | None = None,
        telemetry_of: Callable[[str], MemoryTelemetry] | None = None,
        around: Callable[[Any, set[str]], Any] = lambda adapter, _: adapter,
        function_clock: Clock | None = None,
        chance: Chance = lambda _: False,
        verify: VerifySettings = VerifySettings(),  # noqa: B008
    ) -> None:
        """`around` may wrap each adapter: it gets the adapter and the names of its methods.

        `function_clock` is what the functions read, `clock` is the time of the queues. All
        functions share the `telemetry`, unless `telemetry_of` gives each its own.
        """
        self.clock = MovableClock()
        clock = function_clock or self.clock
        shared = self.telemetry = telemetry or MemoryTelemetry()
        own = telemetry_of or (lambda _: shared)
        self.ledger = ledger or MemoryLedger()
        self.control = control or MemoryControl()
        self.announcer = MemoryAnnouncer()
        self.queues = MemoryQueues(self.clock, chance=chance)
        self.tables = {source.name: MemoryTable(source, self.clock) for source in sources}
        self.indexes = indexes or {
            target.name: MemoryIndex(target.dimensions) for target in targets
        }
        self.embedders = embedders or {
            target.name: HashedEmbedder(target.dimensions) for target in targets
        }
        self._sources = list(sources)
        for target in targets:
            # As the deployment does.
            uuid = self.indexes[target.name].uuid or ""
            self.control.note_index(target.name, before="", after=uuid)
        self.read = dict.fromkeys(self.tables, 0)
        guarded_ledger = around(self.ledger, {"read", "write", "remove", "listed"})
        queue = around(self.queues, {"send", "hide", "waiting"})
        shared_control = around(self.control, CONTROL_METHODS)
        announcer = around(self.announcer, {"announce"})
        self.enqueue = Enqueue(
            ledger=guarded_ledger,
            queue=queue,
            control=shared_control,
            telemetry=own("enqueue"),
            clock=clock,
            sources={source.name: source for source in sources},
            targets={target.name: target for target in targets},
        )
        stashes = {target.name: MemoryStash() for target in targets}

        def new_worker(target: TargetSettings) -> Embed:
            return build_embed(
                source=around(MemorySource(self.tables), {"read"}),
                ledger=guarded_ledger,
                queue=queue,
                embedder=around(self.embedders[target.name], {"embed"}),
                index=around(self.indexes[target.name], {"read", "write"}),
                stash=around(stashes[target.name], {"read", "write"}),
                control=shared_control,
                announcer=announcer,
                telemetry=own("embed"),
                clock=clock,
                wait=self.clock.advance,
                jitter=lambda: 0.0,
                sources=[source for source in sources if target.name in source.targets],
                target=target,
                reused=[
                    around(self.indexes[one.name], {"read"})
                    for one in targets
                    if one.index == target.reused_index
                ],
            )

        # One more process of a target's embed function.
        self.new_worker = new_worker
        self.embed = {target.name: new_worker(target) for target in targets}

        self.failed_changes = MemoryFailedChanges(self._sources)
        self.sweeper = build_sweep(
            ledger=guarded_ledger,
            queue=queue,
            indexes={n: around(index, {"remove"}) for n, index in self.indexes.items()},
            admin=around(
                MemoryIndexAdmin({one.index: self.indexes[one.name] for one in targets}), {"uuid"}
            ),
            control=shared_control,
            announcer=announcer,
            cursors=MemoryCursors(),
            failed_changes=self.failed_changes,
            enqueue=self.enqueue,
            telemetry=own("sweep"),
            clock=clock,
            wait=self._wait_for_embed,
            sources=sources,
            targets=targets,
            stuck_hours=24.0,
            stage="memory",
        )

        self.jobs = MemoryJobs()
        self.errands = MemoryErrands(self.clock)
        self.backfill = build_backfill(
            table=around(MemoryTables(self.tables), {"scan", "read"}),
            indexes={n: around(index, READER_METHODS) for n, index in self.indexes.items()},
            ledger=guarded_ledger,
            queue=queue,
            jobs=around(self.jobs, {"read", "segments", "save", "set_state"}),
            proofs=MemoryProofs(),
            errands=self.errands,
            telemetry=own("backfill"),
            clock=clock,
            wait=self.clock.advance,
            sources=sources,
            targets=targets,
            verify=verify,
        )

        self.mappings = MemoryMappings()
        self.breaker = Reconcile(
            control=shared_control,
            mappings=self.mappings,
            prober=MemoryProber({name: step.probe for name, step in self.embed.items()}),
            telemetry=own("breaker"),
            clock=clock,
            jitter=lambda: 0.0,
            targets=[self._guarded(target) for target in targets],
        )

    def _guarded(self, target: TargetSettings) -> BreakerTarget:
        sequential = [s.name for s in self._sources if s.ordering is Ordering.SEQUENTIAL]
        queues = [queue_name(lane, source) for lane, source in lanes_of(sequential)]
        return BreakerTarget(
            name=target.name,
            embed_function=target.name,
            mappings={queue: f"{target.name}/{queue}" for queue in queues},
            settings=target.breaker,
        )

    def deliver(self, records: Iterable[Mapping[str, Any]]) -> list[str]:
        """Give stream records to enqueue; return the sequence numbers that failed."""
        changes, rejected = parse_records(records, self._sources)
        self.enqueue.reject(rejected)
        return self.enqueue.process(changes)

    def deliver_new(self) -> None:
        """Give enqueue the records that each stream got since the last call."""
        for name, table in self.tables.items():
            start, end = self.read[name], len(table.stream)
            if start == end:
                continue
            try:
                failed = set(self.deliver(table.stream[start:end]))
            except BaseException:
                # The whole batch comes again, whatever another reader has done meanwhile.
                self.read[name] = min(start, self.read[name])
                raise
            numbers = [record["dynamodb"]["SequenceNumber"] for record in table.stream[:end]]
            # Lambda comes again from the first record that failed.
            again = [place for place, number in enumerate(numbers) if number in failed]
            self.read[name] = min([max(end, self.read[name]), *again])

    def run(self, queue: str, most: int = BATCH, seconds: float = RUN_SECONDS) -> int:
        """Run embed once on a batch of a lane; return how many messages it took."""
        if queue in self.mappings.disabled:
            return 0
        messages = self.queues.receive(queue, most)
        if messages:
            target = queue.split("/")[0]
            failed = set(self.embed[target].process(messages, self.seconds_left(seconds)))
            for message in messages:
                if message.message_id not in failed:
                    self.queues.acknowledge(message)
        return len(messages)

    def seconds_left(self, seconds: float = RUN_SECONDS) -> Callable[[], float]:
        """Return a function that gives the seconds left of a run that starts now."""
        end_ms = self.clock() + seconds * 1000
        return lambda: (end_ms - self.clock()) / 1000

    def sweep(self, job: str, seconds: float = 240.0) -> None:
        """Run the sweep once, as its schedule does: `due` each minute, `maintenance` each 15."""
        self.sweeper.run(job, self.seconds_left(seconds))

    def run_errands(self, seconds: float = 60.0) -> None:
        """Run the function backfill on all that waits for it now."""
        while (errand := self.errands.take()) is not None:
            self.backfill.run(errand, self.seconds_left(seconds))

    def reconcile(self) -> None:
        """Run the breaker function once, as its schedule does each minute."""
        self.breaker.run(self.seconds_left(120.0))

    def drain(self) -> None:
        """Run everything, moving the clock over every backoff, until no work is left."""
        self.deliver_new()
        for _ in range(MAX_ROUNDS):
            if self.run_all():
                continue
            if not self.has_work():
                return
            self.tick()
        raise RuntimeError(f"work is still left after {MAX_ROUNDS} rounds")

    def tick(self) -> None:
        """Move the clock to the next time that something is due, and run the schedules."""
        self._advance_to_next_due()
        self.reconcile()
        self.sweep("due")
        self.sweep("maintenance")

    def run_all(self) -> bool:
        """Run embed once on each lane; return whether there was a message."""
        return sum(self.run(name) for name in self.queues.names) > 0

    def has_work(self) -> bool:
        """Return whether a row or a message still waits."""
        waiting = (Group.OPEN, Group.PARKED, Group.OVER_BUDGET, Group.HEALING)
        has_rows = any(row.group in waiting for row in self.ledger.rows.values())
        return has_rows or any(self.queues.depth(name) for name in self.queues.names)

    def _advance_to_next_due(self) -> None:
        """Move the clock to the next time a message or a row is due."""
        now_ms = self.clock()
        waiting = (Group.PARKED, Group.OVER_BUDGET, Group.HEALING)
        dues = [row.due_ms for row in self.ledger.rows.values() if row.group in waiting]
        dues += self.queues.visible_times()
        if not dues or self.mappings.disabled:
            # The breaker runs each minute.
            dues.append(now_ms + 60_000)
        later = [due_ms for due_ms in dues if due_ms > now_ms]
        self.clock.advance((min(later, default=now_ms + 60_000) - now_ms) / 1000)

    def _wait_for_embed(self, seconds: float) -> None:
        """Run embed while the sweep waits for its canary."""
        self.run_all()
        self.clock.advance(seconds)

    def row(self, document: str, *, source: str, target: str = "default") -> LedgerRow | None:
        """Return the ledger row of a document."""
        return self.ledger.rows.get(row_key(target, source, DocumentId(document)))
