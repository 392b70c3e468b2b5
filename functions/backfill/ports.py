"""What backfill and verify depend on besides the ports of the core."""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from functions.core.backfill_job import Job, JobState, Segment
from functions.core.entry import StoredEntry
from functions.core.entry_shape import BucketSum
from functions.core.errand import Errand
from functions.core.identity import DocumentId, EntryId, ItemKey
from functions.core.proof import Proof
from functions.core.scan import ScannedItem, ScannedPage
from functions.core.settings import SourceSettings

SecondsLeft = Callable[[], float]
Wait = Callable[[float], None]


class Table(Protocol):
    """A source's table as a whole."""

    def scan(
        self,
        source: SourceSettings,
        *,
        segment: int,
        segments: int,
        after: ItemKey | None,
        most: int,
    ) -> ScannedPage:
        """Return the next items of one of so many segments, in no order that means anything."""

    def read(
        self, source: SourceSettings, documents: Sequence[DocumentId]
    ) -> dict[DocumentId, ScannedItem]:
        """Return the items of documents, read consistently; what does not exist is left out."""

    def key_of(self, source: SourceSettings, document: DocumentId) -> ItemKey:
        """Spell the key of a document, whether it exists or not."""

    def count(self, source: SourceSettings) -> int:
        """Return how many items there are about; DynamoDB counts every six hours."""


class IndexReader(Protocol):
    """One index as a whole, without its vectors."""

    def summaries(self, ids: Sequence[EntryId]) -> dict[EntryId, StoredEntry]:
        """Return the entries that exist, as they are at this moment."""

    def without_vectors(self, ids: Sequence[EntryId]) -> set[EntryId]:
        """Return those of the entries that are live, but have no vector."""

    def page(
        self,
        source: str,
        *,
        after: str | None,
        most: int,
        buckets: Collection[int] | None = None,
    ) -> list[StoredEntry]:
        """Return the next live entries, of all buckets or some, in the order of their documents."""

    def refresh(self) -> None:
        """Let searches see what was written a moment ago."""

    def sums(self, source: str) -> dict[int, BucketSum]:
        """Return what each bucket holds of a source; an empty bucket is left out."""


class JobStore(Protocol):
    """Jobs and their segments, beside the rows of the ledger."""

    def create(self, job: Job) -> None:
        """Write a new job, and its segments at their beginning."""

    def read(self, job: str) -> Job | None:
        """Return a job; None where there is none."""

    def listed(self) -> list[Job]:
        """Return the jobs that are kept, the newest first."""

    def segments(self, job: Job) -> list[Segment]:
        """Return the segments of a job, in their order."""

    def save(self, segment: Segment, *, now_ms: int) -> Segment | None:
        """Write a segment over the revision that it was read at; None: another was faster."""

    def set_state(
        self,
        job: str,
        state: JobState,
        *,
        before: Collection[JobState],
        now_ms: int,
        failure: str = "",
    ) -> bool:
        """Change the state of a job, if it is one of those before; return whether."""


class Errands(Protocol):
    """The small queue of the function itself."""

    def send(self, errand: Errand, *, delay_seconds: int = 0) -> None:
        """Let the function go on with something, now or after a while."""


class ProofStore(Protocol):
    """How far the proof of each pair is."""

    def read(self, pair: str) -> Proof | None:
        """Return the proof of a pair; None before its first slice."""

    def save(self, pair: str, proof: Proof) -> bool:
        """Write it over the revision that it was read at; False: another was faster."""
