"""A job: a task that was admitted, on its way through a run."""

from dataclasses import dataclass

from functions.core.document import Document
from functions.core.identity import EntryId, RowKey, entry_id
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Message
from functions.core.task import Task


@dataclass(frozen=True)
class Job:
    """A task with its message, and its row as it stands in the ledger."""

    message: Message
    task: Task
    row: LedgerRow

    @property
    def key(self) -> RowKey:
        return self.row.row_key

    @property
    def entry_id(self) -> EntryId:
        return entry_id(self.task.source, self.task.document_id)


@dataclass(frozen=True)
class Prepared:
    """A job whose text is read and split."""

    job: Job
    document: Document
    content_hash: str
    texts: tuple[str, ...]
    hashes: tuple[str, ...]  # of the texts, one by one
