"""What the server asks of a model, and the model of load tests: hashed words.

Words and byte trigrams are hashed into signed features: texts that share words are near each
other, and the same text always gets the same vector.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

# Bounds the working memory: some twenty arrays of this length live at once.
_BYTES_AT_ONCE = 1 << 18
_TEXTS_AT_ONCE = 128
# A long word says more than a short one; one trigram says little.
_LONGEST_WORD_THAT_COUNTS_MORE = 8
_TRIGRAM_WEIGHT = 0.15
# Odd, so that it has an inverse modulo 2**64 and a word's hash can be taken from prefix sums.
_BASE = 0x9E3779B97F4A7C15
_BASE_INVERSE = pow(_BASE, -1, 1 << 64)
_IS_WORD_BYTE = np.array([byte >= 128 or chr(byte).isalnum() for byte in range(256)])


class Vectors(Protocol):
    """A model that turns texts into vectors of the asked number of dimensions."""

    @property
    def fewest_dimensions(self) -> int:
        """Return the smallest number of dimensions that this model can answer with."""

    @property
    def usual_dimensions(self) -> int:
        """Return the number of dimensions of an answer when the request names none."""

    def embed(self, texts: Sequence[str], dimensions: int) -> NDArray[np.float32]:
        """Return one vector of length one per text, in the order of the texts."""


def normalised(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each row to length one; a row of zeros points along the first axis instead.

    OpenSearch refuses a zero vector under cosine similarity, so none may leave the server.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    empty = lengths[:, 0] == 0
    if empty.any():
        rows[empty, 0] = 1
        lengths[empty] = 1
    unit: NDArray[np.float32] = rows / lengths
    return unit


class HashedVectors:
    """Bag of words by feature hashing: no weights, any number of dimensions."""

    fewest_dimensions = 1
    usual_dimensions = 1536

    def embed(self, texts: Sequence[str], dimensions: int) -> NDArray[np.float32]:
        """Return one vector of length one per text, in the order of the texts."""
        padded = [b" " + text.lower().encode() + b" " for text in texts]
        slices = [_features(some, dimensions) for some in _slices(padded)]
        return normalised(np.concatenate(slices))


def _slices(texts: list[bytes]) -> list[list[bytes]]:
    slices: list[list[bytes]] = [[]]
    size = 0
    for text in texts:
        if slices[-1] and (size + len(text) > _BYTES_AT_ONCE or len(slices[-1]) == _TEXTS_AT_ONCE):
            slices.append([])
            size = 0
        slices[-1].append(text)
        size += len(text)
    return slices


def _features(texts: list[bytes], dimensions: int) -> NDArray[np.float32]:
    """Add up the signed features of each text into its row.

    All texts are worked as one array of bytes: a loop over words in Python is ten times slower.
    """
    data = np.frombuffer(b"".join(texts), dtype=np.uint8)
    owner = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    word_hash, word_start, word_weight = _words(data)
    trigram_hash, trigram_start = _trigrams(data, owner)

    hashes = np.concatenate([word_hash, trigram_hash])
    rows = owner[np.concatenate([word_start, trigram_start])]
    weights = np.concatenate([word_weight, np.full(len(trigram_hash), _TRIGRAM_WEIGHT)])
    mixed = _mix(hashes)
    columns = ((mixed >> np.uint64(1)) % np.uint64(dimensions)).astype(np.int64)
    signed = np.where(mixed & np.uint64(1), weights, -weights)
    flat = np.bincount(rows * dimensions + columns, signed, minlength=len(texts) * dimensions)
    return flat.reshape(len(texts), dimensions).astype(np.float32)


def _words(
    data: NDArray[np.uint8],
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.float64]]:
    inside = np.concatenate([[False], _IS_WORD_BYTE[data], [False]])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    starts, ends = edges[::2], edges[1::2]
    powers = _powers(_BASE, len(data))
    # The sum over a word of byte * BASE**position, moved back to position 0, is the same
    # wherever the word stands. Arithmetic wraps modulo 2**64.
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum((data + np.uint64(1)) * powers)])
    hashes = (sums[ends] - sums[starts]) * _powers(_BASE_INVERSE, len(data))[starts]
    weights = np.minimum(ends - starts, _LONGEST_WORD_THAT_COUNTS_MORE)
    return hashes, starts, weights / _LONGEST_WORD_THAT_COUNTS_MORE


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    factors = np.full(count, base, dtype=np.uint64)
    factors[:1] = 1
    return np.cumprod(factors)


def _trigrams(
    data: NDArray[np.uint8], owner: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    wide = data.astype(np.uint64)
    codes = (wide[:-2] << np.uint64(16)) | (wide[1:-1] << np.uint64(8)) | wide[2:]
    starts = np.flatnonzero(owner[:-2] == owner[2:])
    return codes[starts], starts


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread close values over all 64 bits (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
