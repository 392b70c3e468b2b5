"""Engines of a history: they misbehave as the real ones do, and note what must never happen."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.histories.interrupts import Killed
from functions.core.budget import Caps, Cost, Spent
from functions.core.control import Control
from functions.core.failure import Failure, FailureError, FailureKind, RefusedRequestError
from functions.core.ledger_row import Group, LedgerRow, Status
from functions.core.ports import HARMLESS, Clock, Embedded, Listed, Swapped
from local.memory.control import MemoryControl
from local.memory.index import HashedEmbedder
from local.memory.ledger import MemoryLedger
from local.memory.queues import Chance

if TYPE_CHECKING:
    from functions.core.identity import RowKey

DIMENSIONS = 16
POISON = "poison"  # the provider rejects a text with this word
KILLER = "killer"  # a run that embeds a text with this word is killed
FRESH_MS = 2_000  # so long a worker believes what it has read of the control item
ENDED = {Status.COMPLETED, Status.PARTIALLY_COMPLETED, Status.DELETED, Status.SKIPPED}


class Provider(HashedEmbedder):
    """Rejects poison, and lets a killer end the run."""

    def __init__(self, meanwhile: Callable[[], None], chance: Callable[[], bool]) -> None:
        super().__init__(DIMENSIONS)
        self.billed = 0  # tokens
        self.answered = 0  # tokens of the answer that is on its way
        self._chance = chance  # of a request that is throttled
        self._meanwhile = meanwhile  # what happens while a request is under way

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        self._meanwhile()
        if self._chance():
            raise FailureError(Failure(FailureKind.THROTTLED, "too many requests"))
        if any(KILLER in text for text in texts):
            raise Killed
        if any(POISON in text for text in texts):
            raise RefusedRequestError(Failure(FailureKind.INVALID_INPUT, "rejected"))
        answer = super().embed(texts, timeout_seconds=timeout_seconds)
        # A probe is not counted against the budget.
        self.answered = answer.tokens if list(texts) != [HARMLESS] else 0
        self.billed += self.answered
        return answer


class SlowControl(MemoryControl):
    """Answers with what a worker had read a moment before, now and then.

    Counts the claims that were given while another worker had one, and the tokens of the budget.
    """

    def __init__(self, clock: Clock, chance: Chance) -> None:
        super().__init__()
        self._clock = clock
        self._chance = chance
        self._read: dict[str, tuple[int, Control]] = {}
        self.double_claims = 0
        self.counted = 0  # of all days together

    def read(self, target: str) -> Control:
        standing = super().read(target)
        read_ms, before = self._read.get(target, (0, standing))
        if self._clock() - read_ms < FRESH_MS and self._chance(0.2):
            return before
        self._read[target] = self._clock(), standing
        return standing

    def claim(self, target: str, *, now_ms: int, until_ms: int) -> bool:
        is_claimed = self.standing(target).cooldown.claimed_until_ms > now_ms
        is_given = super().claim(target, now_ms=now_ms, until_ms=until_ms)
        self.double_claims += is_given and is_claimed
        return is_given

    def reserve(
        self, target: str, before: Spent, cost: Cost, caps: Caps, *, now_ms: int
    ) -> Spent | None:
        spent = super().reserve(target, before, cost, caps, now_ms=now_ms)
        self.counted += cost.tokens if spent is not None else 0
        return spent

    def settle(self, target: str, reserved: Spent, change: Cost) -> None:
        before = self.standing(target).spent.tokens
        super().settle(target, reserved, change)
        self.counted += self.standing(target).spent.tokens - before


class WatchedLedger(MemoryLedger):
    """Lists rows as they were some time ago, now and then, as a secondary index does.

    Notes each write that no rule allows.
    """

    def __init__(self, chance: Chance) -> None:
        super().__init__()
        self._chance = chance
        self._before: dict[RowKey, LedgerRow] = {}
        self.forbidden: list[str] = []

    def listed(self, groups: Sequence[Group], **options: Any) -> Iterator[Listed]:
        fresh = self.rows
        if self._chance(0.3):
            self.rows = self._before
        found = list(super().listed(groups, **options))
        self.rows = fresh
        if self._chance(0.5):
            self._before = dict(fresh)
        yield from found

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        standing = self.read(row.row_key for row in rows)
        swapped = super().write(rows)
        for key, row in swapped.stored.items():
            if before := standing.get(key):
                self.forbidden += _forbidden(before, row)
        return swapped


def _forbidden(before: LedgerRow, row: LedgerRow) -> Iterator[str]:
    name = row.task.document_id
    if row.position.stream == before.position.stream and row.position < before.position:
        yield f"{name}: an older change took the place of a newer one"
    if row.task.version < before.task.version:
        yield f"{name}: its version went back"
    if row.task.version != before.task.version or row.progress == before.progress:
        return
    if before.status in ENDED and row.status.is_open:
        yield f"{name}: a version was worked again after its end"
    if before.status is row.status is Status.PROCESSING:
        is_other = row.progress.message_id != before.progress.message_id
        if is_other or row.progress.receive_count <= before.progress.receive_count:
            yield f"{name}: two runs worked it at once"
