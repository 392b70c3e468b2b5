"""A load -> vectors for its chunks. What was paid once, for whatever reason, is not paid again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from functions.core.entry import Chunk, Entry, StoredEntry, Vector
from functions.core.failure import Failure, FailureError, FailureKind, MissingIndexError
from functions.core.identity import EntryId, RowKey
from functions.core.ledger_row import LedgerRow
from functions.core.next_step import may_be_last
from functions.core.ports import Embedder, Stash, Telemetry, VectorIndex
from functions.core.retry_policy import RetrySettings
from functions.core.settings import TargetSettings
from functions.embed.chunking import count_tokens, starts
from functions.embed.ending import Failed, Untouched
from functions.embed.guard.tenants import Affordable, Tenants
from functions.embed.job import Prepared
from functions.embed.packing import Past, Piece
from functions.embed.run_time import RunTime
from functions.embed.vectorize import Buying, Vectors, vectorize

# After so many provider errors and timeouts a document is asked for in requests of its own: if it
# is the cause, the others pass, and if another one is, it passes.
ISOLATED_AFTER = 2
# With what a request may fail for one of its documents, apart from a refusal.
SHARED_FAILURES = (FailureKind.PROVIDER_ERROR, FailureKind.TIMEOUT, FailureKind.UNKNOWN)


@dataclass(frozen=True)
class Paid:
    """A document with a vector for each chunk that can have one, and what this run paid."""

    prepared: Prepared
    vectors: Mapping[str, Vector]
    tokens: int
    model: str

    def entry(self, *, now_ms: int) -> Entry:
        prepared = self.prepared
        places = starts(prepared.texts, prepared.document.text)
        chunks = tuple(
            Chunk(text, digest, self.vectors[digest], start)
            for text, digest, start in zip(prepared.texts, prepared.hashes, places, strict=True)
            if digest in self.vectors
        )
        return Entry(
            source=prepared.job.task.source,
            document_id=prepared.job.task.document_id,
            version=prepared.job.task.version,
            content_hash=prepared.content_hash,
            type=prepared.document.type,
            metadata=prepared.document.metadata,
            chunks=chunks,
            written_ms=now_ms,
            model=self.model,
            chunks_failed=len(prepared.texts) - len(chunks),
        )


@dataclass(frozen=True)
class Unpaid:
    """A document that lacks vectors: how it ends, and what it has nevertheless."""

    ending: Failed | Untouched
    indexable_part: Paid | None = None  # indexed if this was its last attempt


@dataclass(frozen=True)
class Payment:
    """The step with its adapters."""

    embedder: Embedder
    index: VectorIndex
    stash: Stash
    telemetry: Telemetry
    target: TargetSettings
    tenants: Tenants
    is_failing: Callable[[], bool]
    misconfigured: Callable[[Failure], None]  # called if a setting is the cause
    excuse: Callable[[int], None]  # called with the requests for which a document is the cause
    reused: Sequence[VectorIndex] = ()  # indexes whose vectors are taken, never written
    paid_again: set[RowKey] = field(default_factory=set)  # of this run, for which one was missing

    def pay(
        self, load: Sequence[Prepared], time: RunTime
    ) -> tuple[list[Paid], dict[RowKey, Unpaid]]:
        """Return the documents with all the vectors that they can have, and the others."""
        known = self._known(load)
        affordable = self.tenants.admit(self._missing(load, known))
        limit = self.embedder.limits.tokens_per_request
        buying = Buying(
            # An account may allow less than its provider does.
            max_tokens=min(self.target.tokens_per_request or limit, limit),
            is_failing=self.is_failing(),
        )
        bought = vectorize(affordable.pieces, self.embedder, buying, time)
        self.tenants.settle(affordable, bought.tokens)
        bought = replace(bought, failed={**affordable.refused, **bought.failed})
        if bought.cause is not None and bought.cause.kind is FailureKind.CONFIGURATION:
            self.misconfigured(bought.cause)
        self.excuse(bought.judged)
        self._report(load, affordable, bought)
        paid: list[Paid] = []
        unpaid: dict[RowKey, Unpaid] = {}
        for prepared in load:
            vectors = {**known[prepared.job.key], **bought.paid}
            tokens = sum(bought.tokens.get(digest, 0) for digest in set(prepared.hashes))
            has_now = Paid(prepared, _vectors_of(prepared, vectors), tokens, self.target.model)
            ending = _unfinished(has_now, bought)
            if ending is not None:
                ending = replace(ending, stashed=self.keep(prepared, bought.paid))
                indexable_part = has_now if has_now.vectors else None
                unpaid[prepared.job.key] = Unpaid(ending, indexable_part)
                continue
            paid.append(has_now)
            if prepared.job.row.stashed and tokens:
                # A run with it has failed or crashed before, and this one may too.
                self.keep(prepared, vectors)
        return paid, unpaid

    def report(self) -> None:
        """Say at the end of a run that it paid for what a replaced index had, and start again."""
        if self.paid_again:
            self.telemetry.event("replaced_index_missing", documents=len(self.paid_again))
        self.paid_again.clear()

    def _report(self, load: Sequence[Prepared], affordable: Affordable, bought: Vectors) -> None:
        for error in bought.unexpected:
            self.telemetry.unexpected(error)
        self.telemetry.count("ProviderRequests", bought.requests)
        # A run has the messages of one lane.
        dimensions = {"lane": str(load[0].job.task.lane), "model": self.target.model}
        tokens = sum(bought.tokens.values())
        self.telemetry.count("TokensPaid", tokens, **dimensions)
        if price := self.target.usd_per_million_tokens:
            self.telemetry.count("DollarsPaid", tokens * price / 1_000_000, **dimensions)
        self.telemetry.count("ChunksPaid", len(bought.paid))
        missing = len(affordable.pieces) + len(affordable.refused)
        self.telemetry.count("ChunksReused", sum(len(p.hashes) for p in load) - missing)

    def keep(self, prepared: Prepared, vectors: Mapping[str, Vector]) -> bool:
        """Stash what was paid for a document that did not make it into the index."""
        kept = _vectors_of(prepared, vectors)
        if not kept:
            return False
        try:
            self.stash.write(prepared.job.key, kept)
        except FailureError as error:
            # The stash only saves money: without it the document is paid again.
            self.telemetry.event("stash_failed", failure=str(error), row_key=prepared.job.key)
            return False
        return True

    def _known(self, load: Sequence[Prepared]) -> dict[RowKey, dict[str, Vector]]:
        stored = _stored(self.index, load)
        known: dict[RowKey, dict[str, Vector]] = {}
        for prepared in load:
            entry = stored.get(prepared.job.entry_id)
            known[prepared.job.key] = {
                **(entry.vectors if entry else {}),
                **self._stashed(prepared),
            }
        for index in self.reused:
            self._add_from(index, load, known)
        return known

    def _add_from(
        self, index: VectorIndex, load: Sequence[Prepared], known: dict[RowKey, dict[str, Vector]]
    ) -> None:
        """Add what the index of the replaced target has for documents that lack vectors.

        Whatever version it holds: a chunk's hash says all that decides its vector.
        """
        lacking = [one for one in load if not known[one.job.key].keys() >= set(one.hashes)]
        try:
            stored = _stored(index, lacking) if lacking else {}
        except MissingIndexError:
            # Lost, or deleted after the switch: it has nothing to take, and will have nothing.
            self.paid_again.update(one.job.key for one in lacking)
            return
        for one in lacking:
            if entry := stored.get(one.job.entry_id):
                known[one.job.key] = {**entry.vectors, **known[one.job.key]}

    def _stashed(self, prepared: Prepared) -> Mapping[str, Vector]:
        if not prepared.job.row.stashed:
            return {}
        try:
            return self.stash.read(prepared.job.key)
        except FailureError as error:
            self.telemetry.event("stash_failed", failure=str(error), row_key=prepared.job.key)
            return {}

    def _missing(
        self, load: Sequence[Prepared], known: Mapping[RowKey, Mapping[str, Vector]]
    ) -> dict[str, list[Piece]]:
        """List the chunks of each tenant that have no vector, however many documents share one."""
        pieces: dict[str, dict[str, Piece]] = {}  # by tenant and hash
        for number, prepared in enumerate(load):
            of_tenant = pieces.setdefault(prepared.document.tenant, {})
            past = _past(prepared.job.row, self.target.retry)
            for text, digest in zip(prepared.inputs, prepared.hashes, strict=True):
                if digest in known[prepared.job.key]:
                    continue
                piece = of_tenant.get(digest)
                if piece is None:
                    tokens = count_tokens(text, most=self.target.chunk_tokens)
                    of_tenant[digest] = Piece(digest, text, tokens, number, past)
                elif piece.document != number:
                    of_tenant[digest] = replace(piece, is_shared=True)
        return {tenant: list(of_tenant.values()) for tenant, of_tenant in pieces.items()}


def _stored(index: VectorIndex, load: Sequence[Prepared]) -> dict[EntryId, StoredEntry]:
    """Read what the index holds for the documents of a load, with vectors that they can reuse."""
    hashes = {digest for one in load for digest in one.hashes}
    return index.read([one.job.entry_id for one in load], hashes=hashes)


def _past(row: LedgerRow, retry: RetrySettings) -> Past:
    progress = row.progress
    # On its last attempt after one, too: another document of the request may be the cause.
    is_last = progress.attempts + 1 >= progress.max_attempts
    return Past(
        has_failed_often=progress.provider_failures >= (1 if is_last else ISOLATED_AFTER),
        failures=progress.provider_failures,
        timeouts=row.timeouts,
        throttles=progress.throttles,
        is_last=any(
            may_be_last(kind, progress, retry, document_type=row.type) for kind in SHARED_FAILURES
        ),
    )


def _vectors_of(prepared: Prepared, vectors: Mapping[str, Vector]) -> dict[str, Vector]:
    """Keep of the vectors those of a document's own chunks."""
    return {digest: vectors[digest] for digest in prepared.hashes if digest in vectors}


def _unfinished(has_now: Paid, bought: Vectors) -> Failed | Untouched | None:
    """Return why a document cannot be indexed now; None if it has all the vectors it can have."""
    prepared = has_now.prepared
    missing = [digest for digest in prepared.hashes if digest not in has_now.vectors]
    failures = [bought.failed[digest] for digest in missing if digest in bought.failed]
    passing = [failure for failure in failures if not failure.kind.is_permanent]
    if passing:
        return Failed(passing[0], prepared.content_hash)
    if len(failures) < len(missing):
        return Untouched()
    if failures and not has_now.vectors:
        return Failed(failures[0], prepared.content_hash)
    return None
