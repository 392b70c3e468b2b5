"""A backfill: what it is to send, how far each of its segments is, and what it sends. Pure."""

from dataclasses import dataclass, replace
from enum import StrEnum

from functions.core.document import Unusable, read_document
from functions.core.identity import ItemKey
from functions.core.verification import Kind, Pair, Sighting, difference

# A segment that failed so often in a row, over hours, fails its job: a person looks at it.
MAX_FAILURES = 20
LONGEST_DELAY_SECONDS = 600


class Only(StrEnum):
    """Which documents a backfill sends."""

    MISSING = "missing"  # without an entry, unless they failed
    STALE = "stale"  # with an entry that is not what the item asks for
    FAILED = "failed"  # that failed, or lack some chunks
    ALL = "all"


class JobState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    DONE = "done"
    FAILED = "failed"

    @property
    def has_ended(self) -> bool:
        return self in (JobState.CANCELLED, JobState.DONE)


@dataclass(frozen=True)
class Estimate:
    """What a backfill was expected to come to when it was started."""

    items: int  # in the table
    documents: int  # to be sent
    tokens: int
    seconds: float | None = None  # None: no limit is configured that would say
    dollars: float | None = None  # None: the price is not known
    budget_tokens: int | None = None  # that bulk may spend now; None: the target has no budget
    budget_days: int | None = None  # until the budget pays for the last of it; 0: today


@dataclass(frozen=True)
class Job:
    """A backfill of one source into one target."""

    id: str
    source: str
    target: str
    only: Only
    segments: int
    by: str
    reason: str
    created_ms: int
    estimate: Estimate
    state: JobState = JobState.RUNNING
    ended_ms: int | None = None
    failure: str = ""

    def __post_init__(self) -> None:
        if self.segments < 1:
            raise ValueError(f"a job has at least one segment, not {self.segments}")


@dataclass(frozen=True)
class Segment:
    """One part of a job's scan: how far it is, and what came of it."""

    job: str
    number: int
    after: ItemKey | None = None  # the last key whose tasks were sent
    is_done: bool = False
    scanned: int = 0
    sent: int = 0
    on_their_way: int = 0  # were open already
    saved_ms: int = 0
    revision: int = 0  # 0 before the first write; every write compares it
    failures: int = 0  # in a row
    failure: str = ""  # the last one

    def advanced(
        self, last: ItemKey | None, *, scanned: int, sent: int, on_their_way: int
    ) -> "Segment":
        """Move behind a page whose tasks were sent."""
        return replace(
            self,
            after=last,
            is_done=last is None,
            scanned=self.scanned + scanned,
            sent=self.sent + sent,
            on_their_way=self.on_their_way + on_their_way,
            failures=0,
            failure="",
        )

    def failed(self, failure: str) -> "Segment":
        """Note that a page could not be sent."""
        return replace(self, failures=self.failures + 1, failure=failure)

    def forgiven(self) -> "Segment":
        """Let it have all its tries again, if a person resumes the job that it has failed."""
        return replace(self, failures=0)

    @classmethod
    def first(cls, job: Job, number: int) -> "Segment":
        """Begin a segment of a new job."""
        return cls(job.id, number, saved_ms=job.created_ms)

    @property
    def is_exhausted(self) -> bool:
        return self.failures >= MAX_FAILURES

    @property
    def delay_seconds(self) -> int:
        """Return how long it waits after its failures."""
        return min(LONGEST_DELAY_SECONDS, 5 << min(self.failures, 10))


def is_owed(seen: Sighting, only: Only, pair: Pair) -> bool:
    """Tell whether a backfill sends a document; what is open in the ledger is never sent."""
    row = seen.row
    if row is not None and row.status.is_open:
        return False
    has_failed = row is not None and row.group is not None and row.status.is_failed
    is_partial = row is not None and row.status.is_searchable and row.indexed.chunks_failed > 0
    match only:
        case Only.FAILED:
            return has_failed or is_partial
        case Only.ALL:
            return seen.live is not None or not _is_skipped(seen, pair)
        case Only.MISSING:
            # An invalid item is sent once: its failure is then known, as that of a live write.
            is_new = row is None and seen.live is None and not _is_skipped(seen, pair)
            return is_new or (not has_failed and difference(seen, pair) is Kind.MISSING)
        case Only.STALE:
            kind = difference(seen, pair)
            return not has_failed and kind is not None and kind is not Kind.MISSING


def _is_skipped(seen: Sighting, pair: Pair) -> bool:
    """Tell whether an item asks for no entry, and is right so."""
    if seen.item is None:
        return True
    content = read_document(seen.item, pair.source)
    return isinstance(content, Unusable) and not content.invalid
