"""The sweep on the in-memory engines, with rows put by hand and a worker that is played."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from functions.core.breaker import Breaker, Circuit
from functions.core.failure import FailureKind, Part
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import ErrorRecord, LedgerRow, Status
from functions.core.ports import EntryRemoval, Ledger, TaskQueue
from functions.core.settings import TargetSettings
from functions.core.task import Task, parse_task
from functions.enqueue.process import Enqueue
from functions.sweep.build import build_sweep
from functions.sweep.ports import Cursors
from functions.sweep.process import Sweep
from local.memory.control import MemoryControl
from local.memory.index import MemoryIndex, MemoryIndexAdmin
from local.memory.ledger import MemoryCursors, MemoryLedger
from local.memory.queues import MemoryQueues
from local.memory.runtime import MemoryAnnouncer, MemoryTelemetry, MovableClock
from local.memory.table import MemoryFailedChanges
from tests.builders import changed, make_row, make_source, make_target

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
RUN_SECONDS = 300.0

# What a worker makes of a row that it takes.
Work = Callable[[LedgerRow], LedgerRow]


def completes(row: LedgerRow) -> LedgerRow:
    return changed(row, status=Status.COMPLETED, next_attempt_ms=None)


def parks(row: LedgerRow) -> LedgerRow:
    return changed(row, parked=True, next_attempt_ms=row.queued_ms + HOUR_MS)


def fails(kind: FailureKind) -> Work:
    return lambda row: changed(
        row,
        errors=(ErrorRecord(row.queued_ms, kind, "injected"),),
        status=Status.FAILED,
        next_attempt_ms=None,
    )


def is_busy(row: LedgerRow) -> LedgerRow:
    return replace(row, status=Status.PROCESSING)


@dataclass
class World:
    """Every dependency of the sweep, for a test to look at."""

    targets: tuple[TargetSettings, ...] = field(default_factory=lambda: (make_target(),))
    clock: MovableClock = field(default_factory=MovableClock)
    telemetry: MemoryTelemetry = field(default_factory=MemoryTelemetry)
    control: MemoryControl = field(default_factory=MemoryControl)
    announcer: MemoryAnnouncer = field(default_factory=MemoryAnnouncer)
    cursors: Cursors = field(default_factory=MemoryCursors)
    ledger: Ledger = field(default_factory=MemoryLedger)
    work: Work = completes

    def __post_init__(self) -> None:
        self.queues = MemoryQueues(self.clock)
        self.sources = [make_source(targets=tuple(one.name for one in self.targets))]
        self.failed_changes = MemoryFailedChanges(self.sources)
        self.indexes = {one.name: MemoryIndex(one.dimensions) for one in self.targets}

    def sweep(
        self,
        *,
        ledger: Ledger | None = None,
        queue: TaskQueue | None = None,
        indexes: dict[str, EntryRemoval] | None = None,
    ) -> Sweep:
        """Build the sweep; a dependency may be replaced by one that fails."""
        return build_sweep(
            ledger=ledger or self.ledger,
            queue=queue or self.queues,
            indexes=indexes or self.indexes,
            admin=MemoryIndexAdmin({one.index: self.indexes[one.name] for one in self.targets}),
            control=self.control,
            announcer=self.announcer,
            cursors=self.cursors,
            failed_changes=self.failed_changes,
            enqueue=Enqueue(
                ledger=ledger or self.ledger,
                queue=queue or self.queues,
                control=self.control,
                telemetry=self.telemetry,
                clock=self.clock,
                sources={one.name: one for one in self.sources},
                targets={one.name: one for one in self.targets},
            ),
            telemetry=self.telemetry,
            clock=self.clock,
            wait=self.wait,
            sources=self.sources,
            targets=self.targets,
            stuck_hours=24.0,
            stage="test",
        )

    def run(self, job: str, **replaced: Any) -> None:
        """Run an event's jobs, with more time than they need."""
        self.sweep(**replaced).run(job, lambda: RUN_SECONDS)

    def wait(self, seconds: float) -> None:
        """Let time go by, and a worker take what is in the lanes."""
        self.clock.advance(seconds)
        for name in self.queues.names:
            for message in self.queues.receive(name, 10):
                self.queues.acknowledge(message)
                task = parse_task(message.body)
                [row] = self.ledger.read([task.row_key]).values()
                if row.task.version == task.version:
                    self.ledger.write([self.work(changed(row, sent=True))])

    def put(self, name: str, **changes: Any) -> LedgerRow:
        """Put a row into the ledger as it stands there."""
        row = make_row(document_id=DocumentId(name), key={"id": {"S": name}}, revision=0, **changes)
        return self.ledger.write([row]).stored[row.row_key]

    def park(self, name: str, *, in_ms: int = 0, **changes: Any) -> LedgerRow:
        """Put a row that waits without a message."""
        return self.put(name, parked=True, next_attempt_ms=self.clock() + in_ms, **changes)

    def fail(self, name: str, *, in_ms: int = 0, **changes: Any) -> LedgerRow:
        """Put a row that failed, and is to heal."""
        values: dict[str, Any] = {
            "status": Status.FAILED,
            "attempts": 5,
            "heals": 1,
            "failing_since_ms": self.clock(),
            "failed_ms": self.clock(),
            "reason": "5 attempts failed",
            "next_attempt_ms": self.clock() + in_ms,
        }
        return self.put(name, **values | changes)

    def row(self, before: LedgerRow) -> LedgerRow:
        """Return a row as it stands now."""
        return self.ledger.read([before.row_key])[before.row_key]

    def tasks(self, lane: Lane | str, target: str = "default") -> list[Task]:
        """Look at what waits in a lane."""
        taken = self.queues.receive(f"{target}/{lane}", 100_000)
        self.queues.hide([(message, 0) for message in taken])
        return [parse_task(message.body) for message in taken]

    def fill(self, lane: Lane, count: int) -> None:
        """Let messages of others wait in a lane."""
        for number in range(count):
            group = f"group {number}" if lane.is_fifo else None
            self.queues.put(f"default/{lane}", "{}", group=group, deduplication_id=None)

    def switch(self, part: Part, state: Circuit, target: str = "default") -> None:
        """Bring a breaker into a state."""
        before = self.control.read(target).breaker(part)
        self.control.swap(target, part, before, Breaker(state=state, since_ms=self.clock()))

    def held_back(self) -> set[str]:
        """Return why rows were held back."""
        return {
            fields["reason"]
            for name, fields in self.telemetry.events
            if name == "requeue_held_back"
        }
