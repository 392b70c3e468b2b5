"""Job + what its item is now -> chunks to embed, a tombstone to write, or a failure. Pure."""

import json
from collections.abc import Iterator, Sequence

from functions.core.batches import batches_by_size
from functions.core.document import Document, Unusable, chunk_hash, content_hash
from functions.core.entry import Tombstone
from functions.core.failure import Failure, FailureKind
from functions.core.settings import TargetSettings
from functions.embed.chunking import count_tokens, split
from functions.embed.ending import Failed
from functions.embed.job import Job, Prepared
from functions.embed.payment import Paid

# Bounds the memory of a run: 2,048 vectors of 1,536 dimensions are 13 MB, as JSON 37 MB.
LOAD_CHUNKS = 2048
PARCEL_BYTES = 8_000_000
# A float32 as JSON, with its comma.
BYTES_PER_NUMBER = 13


def tombstone(
    job: Job, content: Unusable | None, target: TargetSettings, *, now_ms: int
) -> Tombstone | Failed:
    """Make the tombstone of a document that is gone or skipped; an invalid one fails."""
    digest = None if content is None else content_hash(content, target)
    if content is not None and content.invalid:
        return Failed(Failure(FailureKind.INVALID_INPUT, content.reason), digest)
    return Tombstone(
        source=job.task.source,
        document_id=job.task.document_id,
        version=job.task.version,
        content_hash=digest,
        reason=None if content is None else content.reason,
        deleted_ms=now_ms,
    )


def parcels(paid: Sequence[Paid], *, dimensions: int) -> Iterator[list[Paid]]:
    """Cut documents into parcels that fit one bulk body."""
    return batches_by_size(
        paid,
        lambda one: entry_bytes(len(one.prepared.texts), one.prepared.document, dimensions),
        max_size=PARCEL_BYTES,
    )


def entry_bytes(chunks: int, document: Document, dimensions: int) -> int:
    """Estimate an entry as JSON, rather too high than too low."""
    # JSON spells a control character in six bytes, and metadata may repeat the text.
    written = sum(
        len(json.dumps(part, ensure_ascii=False).encode())
        for part in (document.text, document.metadata)
    )
    # Less the two quotes and the two braces.
    words = max(2 * len(document.text.encode()), written - 4)
    return chunks * (dimensions * BYTES_PER_NUMBER + 120) + words


def split_document(job: Job, document: Document, target: TargetSettings) -> Prepared | Failed:
    """Split a document into chunks, unless that makes too many or too large an entry."""
    chunks = split_text(document, target)
    digest = content_hash(document, target)
    if len(chunks) > target.max_chunks:
        reason = (
            f"the text makes {len(chunks)} chunks, target {target.name} allows {target.max_chunks}"
            " (max_chunks): shorten it, or raise the setting"
        )
        return Failed(Failure(FailureKind.INVALID_INPUT, reason), digest)
    size = entry_bytes(len(chunks), document, target.dimensions)
    if size > target.max_entry_mb * 1_000_000:
        reason = (
            f"the entry would have about {-(-size // 1_000_000)} MB, target {target.name} allows"
            f" {target.max_entry_mb} (max_entry_mb): shorten the text, or take larger chunks or"
            " fewer dimensions"
        )
        return Failed(Failure(FailureKind.INVALID_INPUT, reason), digest)
    inputs = tuple(embedded for _, embedded in chunks)
    return Prepared(
        job=job,
        document=document,
        content_hash=digest,
        texts=tuple(text for text, _ in chunks),
        inputs=inputs,
        hashes=tuple(chunk_hash(text, target) for text in inputs),
    )


def split_text(document: Document, target: TargetSettings) -> list[tuple[str, str]]:
    """Return each chunk as it is shown, and as it is embedded."""
    prefix = _prefix(document, target)
    bytes_per_token = target.max_bytes_per_token
    before = target.document_prefix + prefix
    most = target.chunk_tokens * 3 // 4
    by_bytes = min(-(-len(before.encode()) // bytes_per_token), most)
    room = target.chunk_tokens - max(count_tokens(before, most=most), by_bytes)
    texts = split(document.text, max_tokens=room, max_bytes_per_token=bytes_per_token)
    return [(text, target.document_prefix + _with_prefix(text, prefix)) for text in texts]


def _prefix(document: Document, target: TargetSettings) -> str:
    """Return what stands before each chunk; half of the chunk at least is text."""
    parts = split(
        document.chunk_prefix,
        max_tokens=target.chunk_tokens // 2,
        max_bytes_per_token=target.max_bytes_per_token,
    )
    is_whole = len(parts) <= 1
    return document.chunk_prefix if is_whole else f"{parts[0]}\n"


def _with_prefix(text: str, prefix: str) -> str:
    # The first chunk may begin with the title, too.
    return text if text.startswith(prefix.strip()) else prefix + text
