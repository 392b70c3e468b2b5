"""What the steps depend on; implemented by the adapters and by local/memory."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NewType, Protocol

from functions.core.announcement import EventDetail
from functions.core.breaker import Breaker
from functions.core.budget import Caps, Cost, Raised, Spent
from functions.core.control import Control, Cooldown
from functions.core.entry import Entry, Hit, StoredEntry, Tombstone, Vector, WriteResult
from functions.core.failure import Failure, FailureError, FailureKind, Part
from functions.core.identity import EntryId, ItemKey, RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import Group, LedgerRow, Status
from functions.core.settings import SourceSettings
from functions.core.task import Task

if TYPE_CHECKING:
    from functions.core.search import Question, ServedIndex

Clock = Callable[[], int]  # milliseconds since the epoch
Cursor = NewType("Cursor", str)  # a place in the sparse index, understood by its ledger alone
START = Cursor("")
# Text that no filter rejects: tells bad input from bad configuration.
HARMLESS = "probe"


@dataclass(frozen=True, slots=True)
class Message:
    """A task's body as a queue delivered it."""

    message_id: str
    receipt_handle: str
    body: str
    queue: str  # the queue's name, the last part of its ARN
    receive_count: int
    sent_ms: int


@dataclass(frozen=True)
class RateLimit:
    """What the provider still takes, and when it takes everything again."""

    left: int
    reset_seconds: float
    limit: int | None = None  # None: it did not say


@dataclass(frozen=True)
class Allowance:
    """The provider's limits from the headers of an answer; None where a header is missing."""

    requests: RateLimit | None = None
    tokens: RateLimit | None = None


@dataclass(frozen=True)
class Embedded:
    """A vector per text, or the failure of a wrong one, in their order; and what they cost."""

    results: Sequence["Vector | Failure"]
    tokens: int
    allowance: Allowance = Allowance()
    requests: int = 1  # that it took

    @property
    def vectors(self) -> list[Vector]:
        """Return the vectors; raise the failure of a text that has none."""
        for result in self.results:
            if isinstance(result, Failure):
                raise FailureError(result)
        return [result for result in self.results if not isinstance(result, Failure)]


class InvocationContext(Protocol):
    """What Lambda gives a handler about its run."""

    def get_remaining_time_in_millis(self) -> int:
        """Return how long the run may still take."""


# The source was given another table, or another key, since the document was written.
NO_KEY = Failure(
    FailureKind.INVALID_INPUT,
    "its key is not one of the source's table: write the item again, or forget the document",
)


class Source(Protocol):
    def read(
        self, source: SourceSettings, keys: Sequence[ItemKey]
    ) -> Sequence[Mapping[str, Any] | Failure | None]:
        """Return the current items, in the order of the keys; None where there is none.

        A key that the table cannot have is a failure of its own: its document is not deleted.
        """


class Ledger(Protocol):
    def read(self, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow]:
        """Return the rows that exist, read consistently; raise UnreadableRowsError."""

    def write(self, rows: Sequence[LedgerRow]) -> "Swapped":
        """Write each row over the revision that it was read at, or where there is none.

        One that newer code wrote is left as it is, and told apart from what was lost.
        """

    def remove(self, row: LedgerRow) -> bool:
        """Delete the row if it stands at this revision; return whether."""

    def listed(
        self, groups: Sequence[Group], *, due_ms: int | None = None, start: Cursor = START
    ) -> Iterator["Listed"]:
        """Yield the rows of these groups that are due, as the sparse index knows them.

        One that this code cannot read is left out.
        From `start` on, and then those before it: a walk that is cut off goes on where it ended.
        """


class UnreadableRowsError(FailureError):
    """Newer code wrote some of the rows: they are left alone, and concern no other row."""

    def __init__(
        self, failure: Failure, keys: Collection[RowKey], rows: dict[RowKey, LedgerRow]
    ) -> None:
        super().__init__(failure)
        self.keys = keys  # of those that cannot be read
        self.rows = rows  # that were asked for together with them


@dataclass(frozen=True)
class Listed:
    """What the sparse index knows about a row."""

    row_key: RowKey
    status: Status  # pending also while a run works on it
    lane: Lane
    due_ms: int  # of a row in work: when it was queued
    group: Group
    cursor: Cursor = START  # to go on here, or a little before

    @property
    def target(self) -> str:
        return self.row_key.split("/", 1)[0]

    @property
    def source(self) -> str:
        return self.row_key.split("/", 2)[1]

    @property
    def document(self) -> str:
        """The document's id, or, where it begins with #, a hash of it."""
        return self.row_key.split("/", 2)[2]

    def is_fed(self, deployed: Collection[tuple[str, str]]) -> bool:
        """Tell whether its source still feeds its target; `deployed` are such pairs."""
        return (self.target, self.source) in deployed


@dataclass(frozen=True)
class Swapped:
    """How a ledger took a list of rows."""

    stored: dict[RowKey, LedgerRow]  # as they stand there now, ready for the next write
    lost: dict[RowKey, LedgerRow | None]  # what another writer has put there (None: it is gone)
    # Where newer code has put what cannot be read: it is left alone.
    unreadable: dict[RowKey, Failure] = field(default_factory=dict)


class TaskQueue(Protocol):
    def send(self, tasks: Sequence[Task]) -> list[Task]:
        """Send tasks to their lanes; return those that were not accepted."""

    def hide(self, messages: Sequence[tuple[Message, int]]) -> list[Message]:
        """Hide each message for its seconds; return messages whose visibility was not changed."""

    def acknowledge(self, message: Message) -> None:
        """Delete a message now, and not at the end of the run; where that fails, it is then."""

    def waiting(self, target: str) -> dict[str, int]:
        """Return how many messages wait in each queue of a target, hidden ones not counted."""

    def has_queue(self, target: str, queue: str) -> bool:
        """Tell whether a target has a queue of this name: settings change, rows stay."""


@dataclass(frozen=True)
class ProviderLimits:
    """What a provider takes in one request."""

    inputs_per_request: int
    tokens_per_request: int
    tokens_per_input: int
    bytes_per_token: int  # how the provider estimates a request before it counts
    bytes_per_input: int | None = None  # None: as many as its tokens have


class Embedder(Protocol):
    @property
    def limits(self) -> ProviderLimits:
        """Return what one request may hold."""

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        """Return a vector or a failure per text, or raise the failure of the whole request."""


class EntryRemoval(Protocol):
    def remove(self, tombstones: Mapping[EntryId, int]) -> list[EntryId]:
        """Delete entries, each with the version above its own; return those that are gone.

        What holds a newer version than the given one stays, and is not returned.
        """


class VectorIndex(Protocol):
    def read(
        self, ids: Sequence[EntryId], *, hashes: Collection[str] = ()
    ) -> dict[EntryId, StoredEntry]:
        """Return the entries that exist, with the vectors of their chunks that have these hashes.

        One request where no entry has such a chunk.
        """

    def write(
        self, entries: Sequence[Entry | Tombstone], *, searchable_now: bool
    ) -> dict[EntryId, WriteResult]:
        """Write each entry under its external version."""


class HybridMissingError(Exception):
    """The index cannot answer a hybrid question: OpenSearch 3.0 or newer can."""


class SearchIndex(Protocol):
    def behind(self, alias: str) -> "ServedIndex":
        """Return the index behind a read alias, and what its vectors are."""

    def ask(self, index: str, question: "Question") -> list[Hit]:
        """Return the best documents of an index, best first; raise HybridMissingError."""


class Stash(Protocol):
    def read(self, key: RowKey) -> Mapping[str, Vector]:
        """Return the vectors that wait for a row, by chunk hash."""

    def write(self, key: RowKey, vectors: Mapping[str, Vector]) -> None:
        """Keep paid vectors of a row for its next attempt."""


class ControlStore(Protocol):
    """One small item per target: breakers, cooldown, budget and index, seen by all workers."""

    def read(self, target: str) -> Control:
        """Return the item, or an untroubled one; raise a FailureError where it is unreadable."""

    def count(
        self, target: str, part: Part, *, window_ms: int, successes: int, failures: int
    ) -> Breaker:
        """Add to the counts of a window, a newer one from zero; return the breaker.

        What comes late, for a window that is over, is dropped.
        """

    def swap(self, target: str, part: Part, before: Breaker, after: Breaker) -> bool:
        """Change the state of a breaker, if it is still as it was before; counts stay."""

    def cool(self, target: str, *, until_ms: int, after: int) -> Cooldown:
        """Note a throttled request: no worker asks before then; return the cooldown.

        `after` is the number of throttles that its sender knew: of many that came at the same
        time, one raises the number, and the one that must wait longest decides.
        """

    def claim(self, target: str, *, now_ms: int, until_ms: int) -> bool:
        """Be the one worker that asks after a cooldown, until it knows more; return whether."""

    def warm(self, target: str, *, after: int) -> None:
        """End the cooldown that had so many throttles: a request has passed."""

    def reserve(
        self, target: str, before: Spent, cost: Cost, caps: Caps, *, now_ms: int
    ) -> Spent | None:
        """Count the cost of a request, if the caps allow it; return what is spent then, or None.

        `before` is what was read last. The first request of a day or a month begins it.
        """

    def settle(self, target: str, reserved: Spent, change: Cost) -> None:
        """Add the difference to a reservation; of a day or a month that is over, nothing.

        `reserved` names the day and the month that it was counted in. Never done twice.
        """

    def raise_budget(self, target: str, before: Raised, after: Raised) -> bool:
        """Change the caps that a person has set, if they are still as they were before."""

    def note_index(self, target: str, *, before: str, after: str) -> bool:
        """Note the UUID of the target's index, if it is still known by the one before."""


class Mappings(Protocol):
    """The event source mappings between the lanes and embed."""

    def state(self, mapping: str) -> str:
        """Return what AWS calls its state: Enabled, Disabling and so on."""

    def switch(self, mapping: str, *, enabled: bool) -> bool:
        """Enable or disable it; return False while AWS applies the last change."""


class Prober(Protocol):
    def probe(self, function: str, parts: Sequence[Part]) -> dict[Part, str | None] | None:
        """Let embed try each part once: its failure or None; None if Lambda throttled the call."""


class Announcer(Protocol):
    def announce(self, details: Sequence[EventDetail]) -> list[int]:
        """Send the events of documents that ended; return the positions that were refused."""


class Telemetry(Protocol):
    def event(self, name: str, **fields: Any) -> None:
        """Log one step of a document's way: ids and numbers, never content."""

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Add to a metric of core/metrics.py, and to that of its dimensions, if they are given."""

    def unexpected(self, error: Exception) -> None:
        """Log an error that no adapter has classified, with its stack."""
