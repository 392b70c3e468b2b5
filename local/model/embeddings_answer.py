"""Vectors -> HTTP body, in OpenAI's shape: each embedding with its index, then the usage."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from local.model.api_errors import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from local.model.embeddings_request import EmbeddingsRequest


def answer(
    request: EmbeddingsRequest,
    vectors: NDArray[np.float32],
    *,
    indexes: Sequence[int] | None = None,
    headers: Mapping[str, str],
) -> Reply:
    """Return the answer; `indexes` names the input of each vector where the order is another."""
    numbers = range(len(vectors)) if indexes is None else indexes
    body = {
        "object": "list",
        "data": [
            {"object": "embedding", "index": number, "embedding": _embedding(vector, request)}
            for number, vector in zip(numbers, vectors, strict=True)
        ],
        "model": request.model,
        "usage": {"prompt_tokens": request.tokens, "total_tokens": request.tokens},
    }
    return Reply(200, json.dumps(body).encode(), headers)


def _embedding(vector: NDArray[np.float32], request: EmbeddingsRequest) -> str | list[float]:
    if not request.base64:
        numbers: list[float] = vector.tolist()
        return numbers
    return base64.b64encode(vector.astype("<f4", copy=False).tobytes()).decode()
