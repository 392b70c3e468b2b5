"""A load -> vectors for its chunks. What was paid once, for whatever reason, is not paid again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.core.entry import Chunk, Entry
from functions.core.failure import Failure, FailureError
from functions.core.identity import RowKey
from functions.core.ports import Embedder, Stash, Telemetry, VectorIndex
from functions.core.settings import TargetSettings
from functions.embed.chunking import count_tokens
from functions.embed.ending import Ending, Failed, Untouched
from functions.embed.job import Prepared
from functions.embed.packing import Piece
from functions.embed.vectorize import SecondsLeft, Vectors, vectorize

if TYPE_CHECKING:
    from functions.core.entry import Vector


@dataclass(frozen=True)
class Paid:
    """A document with a vector for each chunk, and the tokens that this run paid for it."""

    prepared: Prepared
    vectors: Mapping[str, "Vector"]
    tokens: int

    def entry(self, *, now_ms: int) -> Entry:
        prepared = self.prepared
        return Entry(
            source=prepared.job.task.source,
            document_id=prepared.job.task.document_id,
            version=prepared.job.task.version,
            content_hash=prepared.content_hash,
            type=prepared.document.type,
            metadata=prepared.document.metadata,
            chunks=tuple(
                Chunk(text, digest, self.vectors[digest])
                for text, digest in zip(prepared.texts, prepared.hashes, strict=True)
            ),
            written_ms=now_ms,
        )


@dataclass(frozen=True)
class Payment:
    """The step with its boxes."""

    embedder: Embedder
    index: VectorIndex
    stash: Stash
    telemetry: Telemetry
    target: TargetSettings

    def pay(
        self, load: Sequence[Prepared], seconds_left: SecondsLeft
    ) -> tuple[list[Paid], dict[RowKey, Ending]]:
        """Return the documents with all their vectors, and the endings of the others."""
        known = self._known(load)
        pieces = self._missing(load, known)
        bought = vectorize(
            pieces,
            self.embedder,
            max_tokens=self.target.tokens_per_request,
            seconds_left=seconds_left,
        )
        for error in bought.unexpected:
            self.telemetry.unexpected(error)
        self.telemetry.count("ProviderRequests", bought.requests)
        self.telemetry.count("TokensPaid", sum(bought.tokens.values()))
        self.telemetry.count("ChunksPaid", len(bought.paid))
        self.telemetry.count("ChunksReused", sum(len(p.hashes) for p in load) - len(pieces))
        paid: list[Paid] = []
        endings: dict[RowKey, Ending] = {}
        for prepared in load:
            vectors = {**known[prepared.job.key], **bought.paid}
            if all(digest in vectors for digest in prepared.hashes):
                tokens = sum(bought.tokens.get(digest, 0) for digest in set(prepared.hashes))
                paid.append(Paid(prepared, vectors, tokens))
                if prepared.job.row.stashed and tokens:
                    # A run with it has failed or died before: this one may, too.
                    self.keep(prepared, vectors)
            else:
                endings[prepared.job.key] = self._unfinished(prepared, bought)
        return paid, endings

    def keep(self, prepared: Prepared, vectors: Mapping[str, "Vector"]) -> bool:
        """Stash what was paid for a document that did not make it into the index."""
        mine = {digest: vectors[digest] for digest in prepared.hashes if digest in vectors}
        if not mine:
            return False
        try:
            self.stash.write(prepared.job.key, mine)
        except FailureError as error:
            # The stash only saves money: without it the document is paid again.
            self.telemetry.event("stash_failed", failure=str(error), row_key=prepared.job.key)
            return False
        return True

    def _known(self, load: Sequence[Prepared]) -> dict[RowKey, dict[str, "Vector"]]:
        stored = self.index.read([prepared.job.entry_id for prepared in load])
        known: dict[RowKey, dict[str, Vector]] = {}
        for prepared in load:
            entry = stored.get(prepared.job.entry_id)
            known[prepared.job.key] = {
                **(entry.vectors if entry else {}),
                **self._stashed(prepared),
            }
        return known

    def _stashed(self, prepared: Prepared) -> Mapping[str, "Vector"]:
        if not prepared.job.row.stashed:
            return {}
        try:
            return self.stash.read(prepared.job.key)
        except FailureError as error:
            self.telemetry.event("stash_failed", failure=str(error), row_key=prepared.job.key)
            return {}

    def _missing(
        self, load: Sequence[Prepared], known: Mapping[RowKey, Mapping[str, "Vector"]]
    ) -> list[Piece]:
        """List each chunk that has no vector once, however many documents share it."""
        texts: dict[str, tuple[str, int]] = {}
        for number, prepared in enumerate(load):
            for text, digest in zip(prepared.texts, prepared.hashes, strict=True):
                if digest not in known[prepared.job.key]:
                    texts.setdefault(digest, (text, number))
        return [
            Piece(digest, text, count_tokens(text, most=self.target.chunk_tokens), number)
            for digest, (text, number) in texts.items()
        ]

    def _unfinished(self, prepared: Prepared, bought: Vectors) -> Ending:
        stashed = self.keep(prepared, bought.paid)
        failure = _worst(bought.failed.get(digest) for digest in prepared.hashes)
        if failure is None:
            return Untouched(stashed)
        return Failed(failure, prepared.content_hash, stashed)


def _worst(failures: Iterable[Failure | None]) -> Failure | None:
    """Pick the failure that decides: a permanent one leaves nothing to wait for."""
    found = [failure for failure in failures if failure is not None]
    return min(found, key=lambda failure: not failure.kind.is_permanent, default=None)
