"""What a provider answered: each vector is checked, each refusal gets its failure by its status."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import httpx2
import numpy as np
import orjson

from functions.core.failure import (
    Failure,
    FailureError,
    FailureKind,
    RefusedRequestError,
    TooLargeRequestError,
)
from functions.core.ports import HARMLESS, Embedded

if TYPE_CHECKING:
    from functions.core.entry import Vector

# Gateways that bill by credit answer so to requests that cost more than what is left.
PAYMENT_REQUIRED = 402
# 429 that is no throttling.
NO_WAITING_HELPS = frozenset({"insufficient_quota", "billing_not_active"})
# Key, path, method or format are wrong.
MISCONFIGURED = (401, 403, 404, 405, 410, 415)
# Of the statuses that may pass, those that are no error of the provider.
PASSING = {408: FailureKind.TIMEOUT, 429: FailureKind.THROTTLED}
# Answers of a gateway that may not have waited for the end of the work.
GATEWAY_STATUSES = (408, 502, 504)
NOT_CONNECTED = (httpx2.ConnectError, httpx2.ConnectTimeout)
# What of an error is kept: the rest may quote the input.
CODE = re.compile(r"[\w.-]{1,64}", re.ASCII)
# A number as JSON text takes five times what it takes in base64; some providers ignore the format.
BYTES_PER_NUMBER = 26
BYTES_PER_ITEM = 300
BYTES_BESIDE_ITEMS = 200_000
LARGEST_ANSWER_BYTES = 64_000_000
# The least square that a float32 holds with all its digits.
LEAST_SQUARE = np.finfo(np.float32).tiny
# No tokenizer makes more of a text than its bytes and a few marks.
MARKS_PER_TEXT = 100
# Before they count tokens, providers take a quarter of the UTF-8 bytes for them.
BYTES_PER_TOKEN = 4


class MisconfiguredError(FailureError):
    """The status says that a setting is wrong; of a firewall, that it dislikes the text."""


def answer_bytes(texts: int, dimensions: int) -> int:
    """Return how many bytes the answer for so many texts has at most."""
    return texts * _bytes_per_vector(dimensions) + BYTES_BESIDE_ITEMS


def most_inputs(dimensions: int) -> int:
    """Return for how many texts an answer is not too large."""
    return max(LARGEST_ANSWER_BYTES // _bytes_per_vector(dimensions), 1)


def _bytes_per_vector(dimensions: int) -> int:
    return dimensions * BYTES_PER_NUMBER + BYTES_PER_ITEM


def decoded(body: bytes) -> Any:
    """Parse an answer."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # NaN and Infinity are no JSON, but Python's own servers write and read them.
        return json.loads(body)


def checked(embedding: object, dimensions: int) -> "Vector | Failure":
    """Return a vector, or why it is none: the others of the answer are kept."""
    try:
        vector = _vector(embedding)
    except (TypeError, ValueError, OverflowError):
        return wrong("a vector cannot be read")
    if vector.shape != (dimensions,):
        return wrong(f"a vector has {vector.size} dimensions, not {dimensions}")
    if not np.isfinite(vector).all():
        return wrong("a vector holds NaN or infinity")
    if not vector.any():
        return wrong("a vector is all zeros")
    with np.errstate(over="ignore", under="ignore"):
        square = vector @ vector
    # The index takes it all the same: with a cosine of NaN or infinity it comes first in every
    # search, and in a compressed index it fails them all.
    if not LEAST_SQUARE <= square < np.inf:
        return wrong("a vector is too short or too long for a cosine")
    return vector


def _vector(embedding: Any) -> "Vector":
    # Some compatible providers ignore the asked format.
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    with np.errstate(over="ignore"):
        return np.asarray(embedding, dtype=np.float32)


def estimated_tokens(texts: Sequence[str]) -> int:
    """Estimate the tokens of a request as the provider does before it counts."""
    return sum(-(-len(text.encode()) // BYTES_PER_TOKEN) for text in texts)


def paid_tokens(count: object, texts: Sequence[str]) -> int:
    """Return the provider's count, or our own where it gives none or an impossible one."""
    most = sum(len(text.encode()) + MARKS_PER_TEXT for text in texts)
    return count if type(count) is int and 0 < count <= most else estimated_tokens(texts)


def wrong(message: str) -> Failure:
    """Name a fault of the provider's own."""
    return Failure(FailureKind.PROVIDER_ERROR, f"the provider is wrong: {message}")


def not_reached(error: Exception, cause: BaseException | None) -> FailureError:
    """Name a request that got no answer; `cause` is the error of the connection."""
    message = f"the provider was not reached: {type(error).__name__}"
    is_refused = isinstance(cause, NOT_CONNECTED)
    return FailureError(Failure(FailureKind.PROVIDER_ERROR, message, is_refused=is_refused))


def too_slow(cause: BaseException | None) -> FailureError:
    """Name a request whose answer came too late; `cause` is the error of the connection."""
    message = "the provider did not answer in time"
    is_refused = isinstance(cause, NOT_CONNECTED)
    return FailureError(Failure(FailureKind.TIMEOUT, message, is_refused=is_refused))


def refusal(
    status: int,
    names: Iterable[object],
    *,
    retry_after: float | None = None,
    is_above_limit: bool = False,
) -> FailureError:
    """Return the failure of an answer with this status; `names` are its code and its type."""
    codes = [str(name) for name in names if name is not None and CODE.fullmatch(str(name))]
    message = f"the provider answered {status} {codes[0] if codes else ''}".strip()
    is_quota = status == 429 and not NO_WAITING_HELPS.isdisjoint(codes)
    # A harmless text may pass where little is left: that says nothing about the others.
    if is_quota or status == PAYMENT_REQUIRED:
        return FailureError(Failure(FailureKind.CONFIGURATION, message))
    # A redirect is not followed: the address in the settings is the one to correct.
    if status < 400 or status in MISCONFIGURED:
        return MisconfiguredError(Failure(FailureKind.CONFIGURATION, message))
    if status == 413 or (status == 429 and is_above_limit):
        return TooLargeRequestError(Failure(FailureKind.INVALID_INPUT, message))
    match status:
        case 400 | 422:
            return RefusedRequestError(Failure(FailureKind.INVALID_INPUT, message))
        case _:
            kind = PASSING.get(status, FailureKind.PROVIDER_ERROR)
            is_refused = status not in GATEWAY_STATUSES
            return FailureError(Failure(kind, message, retry_after, is_refused=is_refused))


def asked_again(
    error: MisconfiguredError, ask: Callable[[Sequence[str]], Embedded], texts: Sequence[str]
) -> Embedded:
    """Tell a wrong setting from a firewall that refuses by content: there a harmless text passes.

    The texts are asked for once more then, as a refusal of a moment is not theirs. If the harmless
    text fails in passing, so have they: neither they nor the setting is judged.
    """
    try:
        ask([HARMLESS])
    except (RefusedRequestError, TooLargeRequestError) as doubt:
        raise error from doubt
    try:
        return ask(texts)
    except MisconfiguredError as refused:
        failure = Failure(FailureKind.INVALID_INPUT, refused.failure.message)
        raise RefusedRequestError(failure) from refused
