"""What is paid for a change: of one paragraph, of nothing, of metadata, after a failed write."""

from collections.abc import Sequence

from benchmarks.bench.documents import make_text
from benchmarks.bench.row import Row
from functions.core.entry import Entry, Tombstone, WriteResult
from functions.core.failure import Failure, FailureKind
from functions.core.identity import EntryId
from functions.core.settings import SourceSettings, TargetSettings
from local.memory.index import MemoryIndex
from local.memory.pipeline import MemoryPipeline

DIMENSIONS = 16
PARAGRAPHS = 50
CHUNK_TOKENS = 64
PARAGRAPH_CHARACTERS = 200  # between a half and all of a chunk
EDITED = 24
BUSY = Failure(FailureKind.INDEX_BUSY, "OpenSearch answered 429")


class BusyIndex(MemoryIndex):
    """Refuses as many writes as it is told to."""

    refuses = 0
    refused = 0

    def write(
        self, entries: Sequence[Entry | Tombstone], *, searchable_now: bool
    ) -> dict[EntryId, WriteResult]:
        if self.refuses:
            self.refuses -= 1
            self.refused += 1
            return {one.entry_id: BUSY for one in entries}
        return super().write(entries, searchable_now=searchable_now)


class Story:
    """One document in a pipeline in memory, and what each of its changes costs."""

    def __init__(self) -> None:
        target = TargetSettings(
            name="default",
            model="text-embedding-3-small",
            dimensions=DIMENSIONS,
            index="articles",
            chunk_tokens=CHUNK_TOKENS,
        )
        source = SourceSettings(
            name="articles",
            table="articles",
            key=("id",),
            text="{body}",
            metadata={"author": "keyword"},
        )
        self._index = BusyIndex(DIMENSIONS)
        self._pipeline = MemoryPipeline([source], [target], indexes={"default": self._index})
        self._item = {"id": "a", "body": "", "author": "Aesop", "shelf": "1"}
        self.paragraphs = [
            make_text(f"paragraph {number}", PARAGRAPH_CHARACTERS) for number in range(PARAGRAPHS)
        ]

    def pay(self, *, refuses: int = 0, **changes: str) -> int:
        """Write the item with these changes; return the tokens that were paid for it."""
        before = self._pipeline.telemetry.metrics["TokensPaid"]
        self._item |= {"body": "\n\n".join(self.paragraphs)} | changes
        self._index.refuses = refuses
        self._pipeline.tables["articles"].put(self._item)
        self._pipeline.drain()
        return self._pipeline.telemetry.metrics["TokensPaid"] - before

    @property
    def refused(self) -> int:
        """Count the writes that the index has refused."""
        return self._index.refused

    @property
    def chunks(self) -> int:
        """Count the chunks that the index has."""
        [entry] = self._index.entries.values()
        return len(entry.chunks) if isinstance(entry, Entry) else 0


def rows() -> list[Row]:
    """Write a document, change it in each way, and compare with all of it."""
    story = Story()
    whole = story.pay()
    chunks = story.chunks
    story.paragraphs[EDITED] = make_text("another paragraph", PARAGRAPH_CHARACTERS)
    edited = story.pay()
    # The same text: a field that is neither text nor metadata, then one of the metadata.
    unchanged = story.pay(shelf="2")
    metadata = story.pay(author="La Fontaine")
    story.paragraphs = [make_text(f"new {n}", PARAGRAPH_CHARACTERS) for n in range(PARAGRAPHS)]
    first = story.pay(refuses=1)
    return [
        Row(
            f"tokens paid for an edit of one paragraph in {chunks} chunks",
            100 * edited / whole,
            "%",
            "tokens of the whole document",
            limit=6,
            note=f"{edited:,} of {whole:,}",
        ),
        Row("tokens paid: item written again, text unchanged", unchanged, "", "counted", limit=0),
        Row("tokens paid: metadata changed alone", metadata, "", "counted", limit=0),
        Row(
            "tokens paid: retry after a failed index write",
            first - _alone(story),
            "",
            "the same texts without a failure",
            limit=0,
        ),
    ]


def _alone(story: Story) -> int:
    """Return what the same texts cost where no write fails."""
    other = Story()
    other.paragraphs = story.paragraphs
    return other.pay()
