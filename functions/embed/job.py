"""A message on its way through a run: received, admitted as a job, prepared, or returned."""

from dataclasses import dataclass

from functions.core.document import Document
from functions.core.identity import EntryId, RowKey, entry_id
from functions.core.ledger_row import LedgerRow
from functions.core.next_step import later_seconds, soon_seconds
from functions.core.ports import Message
from functions.core.retry_policy import RetrySettings
from functions.core.task import Task


@dataclass(frozen=True, slots=True)
class Received:
    """A message that is a task of ours."""

    message: Message
    task: Task


@dataclass(frozen=True, slots=True)
class Job:
    """A task that was admitted, with its message and its row as it stands in the ledger."""

    message: Message
    task: Task
    row: LedgerRow

    @property
    def key(self) -> RowKey:
        return self.row.row_key

    @property
    def entry_id(self) -> EntryId:
        return entry_id(self.task.source, self.task.document_id)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job whose text is read and split."""

    job: Job
    document: Document
    content_hash: str
    texts: tuple[str, ...]  # that are shown
    inputs: tuple[str, ...]  # that are embedded, one for each text
    hashes: tuple[str, ...]  # of the inputs


@dataclass(frozen=True, slots=True)
class Returned:
    """A message that goes back to its queue, to come again after so many seconds."""

    message: Message
    seconds: float

    @classmethod
    def soon(cls, message: Message, retry: RetrySettings, *, jitter: float) -> "Returned":
        """Return a message that this run had no time for."""
        return cls(message, soon_seconds(message.receive_count, retry) * (1 - jitter / 2))

    @classmethod
    def later(cls, message: Message, *, jitter: float) -> "Returned":
        """Return a message whose row can be neither read nor written now."""
        return cls(message, later_seconds(message.receive_count) * (1 - jitter / 2))
