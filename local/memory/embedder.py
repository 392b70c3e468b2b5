"""Vectors without a provider: words hashed into features, and counts of what was asked."""

from collections.abc import Sequence

from functions.core.ports import Embedded
from local.model.hashed import HashedVectors


class HashedEmbedder:
    """Texts that share words are near each other."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._vectors = HashedVectors()
        self.requests: list[list[str]] = []

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:  # noqa: ARG002
        self.requests.append(list(texts))
        vectors = self._vectors.embed(texts, self._dimensions)
        return Embedded(list(vectors), sum(len(text.split()) for text in texts))
