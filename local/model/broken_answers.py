"""A planned fault -> what the client gets instead of, or as, its answer."""

from __future__ import annotations

import math
import time
from email.utils import formatdate
from typing import TYPE_CHECKING

import numpy as np

from local.model import api_errors
from local.model.api_errors import ApiError, Reply
from local.model.embeddings_answer import answer
from local.model.faults import Fault, FaultKind, RetryAfter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from local.model.embeddings_request import EmbeddingsRequest

_USUAL_WAIT_SECONDS = 1.0
_PAGE = b"<!DOCTYPE html><html><body><h1>The service is being looked after</h1></body></html>"


def refuse(fault: Fault, request: EmbeddingsRequest) -> None:
    """Raise the refusal of this fault, if its kind is one."""
    match fault.kind:
        case FaultKind.RATE_LIMITED:
            raise api_errors.rate_limited(request.model, headers=_retry_headers(fault))
        case FaultKind.INSUFFICIENT_QUOTA:
            raise api_errors.insufficient_quota()
        case FaultKind.UNAUTHORIZED:
            raise api_errors.invalid_key()
        case FaultKind.UNKNOWN_MODEL:
            raise api_errors.unknown_model(request.model)
        case FaultKind.SERVER_ERROR:
            raise api_errors.server_error(fault.status_or_usual)
        case FaultKind.POISON:
            # OpenAI does not say which input it refused, so neither is told here.
            raise api_errors.invalid_input("'$.input' is invalid.")
        case FaultKind.TOO_LARGE:
            raise _too_large(fault, request)


def spoil(
    fault: Fault,
    request: EmbeddingsRequest,
    vectors: NDArray[np.float32],
    headers: Mapping[str, str],
) -> Reply:
    """Return the answer as this fault changes it."""
    indexes: list[int] | None = None
    match fault.kind:
        case FaultKind.HTML:
            return Reply(fault.status_or_usual, _PAGE, headers, "text/html; charset=utf-8")
        case FaultKind.MALFORMED_JSON:
            whole = answer(request, vectors, headers=headers)
            return Reply(200, whole.body[: len(whole.body) // 2], headers)
        case FaultKind.FEWER_VECTORS:
            vectors = vectors[:-1]
        case FaultKind.WRONG_ORDER:
            vectors, indexes = vectors[::-1], list(reversed(range(len(vectors))))
        case FaultKind.WRONG_INDEX:
            indexes = [0] * len(vectors)
        case FaultKind.NAN:
            vectors = vectors.copy()
            vectors[0, 0] = np.nan
        case FaultKind.WRONG_DIMENSIONS:
            vectors = np.pad(vectors, ((0, 0), (0, 1)))
    return answer(request, vectors, indexes=indexes, headers=headers)


def _too_large(fault: Fault, request: EmbeddingsRequest) -> ApiError:
    return api_errors.too_large(
        request.model, limit=fault.tokens, asked=request.tokens, status=fault.status_or_usual
    )


def _retry_headers(fault: Fault) -> dict[str, str]:
    wait = _USUAL_WAIT_SECONDS if fault.seconds is None else fault.seconds
    match fault.retry_after:
        case RetryAfter.SECONDS:
            return {"retry-after": str(math.ceil(wait))}
        case RetryAfter.MILLISECONDS:
            return {"retry-after-ms": str(math.ceil(wait * 1000))}
        case RetryAfter.DATE:
            return {"retry-after": formatdate(time.time() + wait, usegmt=True)}
        case RetryAfter.NONE:
            return {}
