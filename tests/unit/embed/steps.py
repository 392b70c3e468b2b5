"""The steps of a run with dependencies in memory."""

from collections.abc import Callable, Sequence

from functions.core.announcement import Announcements
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Swapped
from functions.core.retry_policy import Healing, RetryPolicy, RetrySettings
from functions.embed.finish import Finish
from functions.embed.receive import Receive
from functions.embed.tools import Tools
from local.memory.ledger import MemoryLedger
from local.memory.queues import MemoryQueues
from local.memory.runtime import MemoryAnnouncer, MemoryTelemetry, MovableClock
from tests.builders import make_target

RETRY = RetrySettings(default=RetryPolicy(max_attempts=3), healing=Healing(hours=0))


class OvertakenLedger(MemoryLedger):
    """Lets another writer change, or remove, each row just before the first write."""

    def __init__(self, other: Callable[[LedgerRow], LedgerRow | None] = lambda row: row) -> None:
        super().__init__()
        self.other: Callable[[LedgerRow], LedgerRow | None] | None = None
        self._other = other

    def put(self, row: LedgerRow) -> LedgerRow:
        """Store a row; the other writer comes before the next write."""
        self.other = None
        stored = self.write([row]).stored[row.row_key]
        self.other = self._other
        return stored

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        other = self.other
        if rows and other is not None:
            self.other = None
            for row in rows:
                changed = other(self.rows[row.row_key])
                if changed is None:
                    del self.rows[row.row_key]
                else:
                    super().write([changed])
        return super().write(rows)


class Steps:
    """Receive and finish, and what they write to."""

    def __init__(self, ledger: MemoryLedger | None = None) -> None:
        self.ledger = MemoryLedger() if ledger is None else ledger
        self.announcer = MemoryAnnouncer()
        self.telemetry = MemoryTelemetry()
        self.clock = MovableClock()
        self.queues = MemoryQueues(self.clock)
        tools = Tools(
            target=make_target(retry=RETRY, model="m"),
            ledger=self.ledger,
            queue=self.queues,
            announcements=Announcements(self.announcer, self.telemetry, self.clock, "test"),
            telemetry=self.telemetry,
            clock=self.clock,
            jitter=lambda: 0.0,
        )
        self.receive = Receive(tools, sources=frozenset({"articles"}))
        self.finish = Finish(
            tools, completed_row_days=30, index_uuid=lambda: "index-1", is_failing=lambda: False
        )

    def events(self) -> list[str]:
        """Name what was logged, in order."""
        return [name for name, _ in self.telemetry.events]
