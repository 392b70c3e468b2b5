"""The models that the server can have, by name."""

from pathlib import Path

from local.provider.minilm import MiniLmVectors
from local.provider.vectors import HashedVectors, Vectors


def choose_vectors(given: str | Vectors, weights: Path | None) -> Vectors:
    """Return the model of a name; `weights` is the folder of MiniLM's."""
    match given:
        case "hashed":
            return HashedVectors()
        case "minilm":
            return MiniLmVectors(weights)
        case str():
            raise ValueError(f"vectors: {given!r} is not one of hashed, minilm")
        case _:
            return given
