"""What the model server asks of a model: one row of float32 per text, of length one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


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
