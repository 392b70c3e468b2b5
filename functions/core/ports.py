"""The boxes outside, as the steps see them. Adapters and local/memory both fit."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from functions.core.entry import Entry, StoredEntry, Tombstone, WriteResult
from functions.core.identity import EntryId, ItemKey, RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.core.settings import SourceSettings
from functions.core.task import Task

if TYPE_CHECKING:
    from functions.core.entry import Vector

Clock = Callable[[], int]  # milliseconds since the epoch


@dataclass(frozen=True)
class Message:
    """A task's body as a queue delivered it."""

    message_id: str
    receipt_handle: str
    body: str
    queue: str  # the queue's name, the last part of its ARN
    receive_count: int
    sent_ms: int


@dataclass(frozen=True)
class Embedded:
    """Vectors in the order of the texts, and what they cost."""

    vectors: Sequence["Vector"]
    tokens: int


class InvocationContext(Protocol):
    """What Lambda tells a handler about its run."""

    def get_remaining_time_in_millis(self) -> int:
        """Return how long the run may still take."""


class Source(Protocol):
    def read(
        self, source: SourceSettings, keys: Sequence[ItemKey]
    ) -> Sequence[Mapping[str, Any] | None]:
        """Return the current items, in the order of the keys; None where there is none."""


class Ledger(Protocol):
    def read(self, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow]:
        """Return the rows that exist, read consistently."""

    def write(self, rows: Sequence[LedgerRow]) -> "Swapped":
        """Write each row over the revision that it was read at, or where there is none."""

    def listed(self) -> Iterator["Listed"]:
        """Yield every row that is open or failed, as the sparse index knows it."""


@dataclass(frozen=True)
class Listed:
    """What the sparse index tells about a row."""

    row_key: RowKey
    status: Status
    lane: Lane
    due_ms: int


@dataclass(frozen=True)
class Swapped:
    """How a ledger took a list of rows."""

    stored: dict[RowKey, LedgerRow]  # as they stand there now, ready for the next write
    lost: dict[RowKey, LedgerRow | None]  # what another writer has put there (None: it is gone)


class TaskQueue(Protocol):
    def send(self, tasks: Sequence[Task]) -> list[Task]:
        """Send tasks to their lanes; return those that were not accepted."""

    def hide(self, messages: Sequence[tuple[Message, int]]) -> list[Message]:
        """Let each message come back after so many seconds; return those that will not listen."""


class Embedder(Protocol):
    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        """Return one vector per text, or raise a FailureError."""


class VectorIndex(Protocol):
    def read(self, ids: Sequence[EntryId]) -> dict[EntryId, StoredEntry]:
        """Return the entries that exist, with their vectors."""

    def write(
        self, entries: Sequence[Entry | Tombstone], *, searchable_now: bool
    ) -> dict[EntryId, WriteResult]:
        """Write each entry under its external version."""


class Stash(Protocol):
    def read(self, key: RowKey) -> Mapping[str, "Vector"]:
        """Return the vectors that wait for a row, by chunk hash."""

    def write(self, key: RowKey, vectors: Mapping[str, "Vector"]) -> None:
        """Keep paid vectors of a row for its next attempt."""


class Telemetry(Protocol):
    def event(self, name: str, **fields: Any) -> None:
        """Log one step of a document's life: ids and numbers, never content."""

    def count(self, metric: str, value: float = 1) -> None:
        """Add to a metric."""

    def unexpected(self, error: Exception) -> None:
        """Log an error that nobody has foreseen, with its stack."""
