"""Vectors -> HTTP answer in OpenAI's shape, as it is or as a planned fault changes it."""

import base64
import json
import math
import time
from collections.abc import Iterable, Mapping
from email.utils import formatdate

import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response

from local.provider.errors import ApiError, invalid_input, invalid_key, rate_limited, too_large
from local.provider.faults import Fault, FaultKind, RetryAfter
from local.provider.request import EmbeddingsRequest

_DEFAULT_WAIT_SECONDS = 1.0
_PAGE = b"<!DOCTYPE html><html><body><h1>The service is under maintenance</h1></body></html>"


def refuse(fault: Fault, request: EmbeddingsRequest) -> None:
    """Raise the refusal of this fault, if its kind is one."""
    match fault.kind:
        case FaultKind.RATE_LIMITED:
            raise rate_limited(request.model, headers=_retry_headers(fault))
        case FaultKind.INSUFFICIENT_QUOTA:
            raise ApiError(
                429,
                "You exceeded your current quota, please check your plan and billing details.",
                kind="insufficient_quota",
                code="insufficient_quota",
            )
        case FaultKind.UNAUTHORIZED:
            raise invalid_key()
        case FaultKind.UNKNOWN_MODEL:
            message = f"The model `{request.model}` does not exist or you do not have access to it."
            raise ApiError(404, message, code="model_not_found")
        case FaultKind.SERVER_ERROR:
            message = "The server had an error while processing your request. Sorry about that!"
            raise ApiError(fault.answer_status, message, kind="server_error")
        case FaultKind.POISON:
            # OpenAI does not say which input it refused.
            raise invalid_input("'$.input' is invalid.")
        case FaultKind.TOO_LARGE:
            raise too_large(
                request.model,
                limit=fault.tokens,
                asked=request.tokens,
                status=fault.answer_status,
            )


def answer(
    request: EmbeddingsRequest,
    vectors: NDArray[np.float32],
    headers: Mapping[str, str],
    kind: FaultKind | None = None,
) -> Response:
    """Return the vectors, each with its index, and the usage; a fault changes some of it."""
    indexes, vectors = changed(vectors, kind)
    fields = {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": _embedding(vector, request)}
            for index, vector in zip(indexes, vectors, strict=True)
        ],
        "model": request.model,
        "usage": {"prompt_tokens": request.tokens, "total_tokens": request.tokens},
    }
    body = json.dumps(fields).encode()
    if kind is FaultKind.MALFORMED_JSON:
        body = body[: len(body) // 2]
    return Response(body, headers=dict(headers), media_type="application/json")


def changed(
    vectors: NDArray[np.float32], kind: FaultKind | None
) -> tuple[Iterable[int], NDArray[np.float32]]:
    """Return the vectors with their indexes, as a fault changes them."""
    every = range(len(vectors))
    match kind:
        case FaultKind.FEWER_VECTORS:
            return every[:-1], vectors[:-1]
        case FaultKind.WRONG_ORDER:
            return every[::-1], vectors[::-1]
        case FaultKind.WRONG_INDEX:
            return [0] * len(vectors), vectors
        case FaultKind.NAN:
            vectors[0, 0] = np.nan
        case FaultKind.WRONG_DIMENSIONS:
            vectors = np.pad(vectors, ((0, 0), (0, 1)))
    return every, vectors


def proxy_page(fault: Fault, headers: Mapping[str, str]) -> Response:
    """Return the page of a proxy that stands before the provider."""
    return Response(_PAGE, fault.answer_status, dict(headers), "text/html")


def _embedding(vector: NDArray[np.float32], request: EmbeddingsRequest) -> str | list[float]:
    if not request.base64:
        numbers: list[float] = vector.tolist()
        return numbers
    return base64.b64encode(vector.astype("<f4", copy=False).tobytes()).decode()


def _retry_headers(fault: Fault) -> dict[str, str]:
    wait = _DEFAULT_WAIT_SECONDS if fault.seconds is None else fault.seconds
    match fault.retry_after:
        case RetryAfter.SECONDS:
            return {"retry-after": str(math.ceil(wait))}
        case RetryAfter.MILLISECONDS:
            return {"retry-after-ms": str(math.ceil(wait * 1000))}
        case RetryAfter.DATE:
            return {"retry-after": formatdate(time.time() + wait, usegmt=True)}
        case RetryAfter.NONE:
            return {}
