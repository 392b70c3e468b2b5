"""OpenAI, Azure OpenAI and compatible providers -> vectors; their errors -> failures."""

import base64
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import httpx2
import numpy as np
import openai
import orjson

from functions.adapters.bounded_http import BoundedTransport, TooLargeAnswerError
from functions.adapters.openai_limits import LIMITS, sends_dimensions
from functions.adapters.provider_headers import allowance, retry_after_seconds
from functions.core.entry import Vector
from functions.core.failure import (
    Failure,
    FailureError,
    FailureKind,
    RefusedRequestError,
    TooLargeRequestError,
)
from functions.core.ports import HARMLESS, Allowance, Embedded
from functions.core.settings import TargetSettings

# 429 that is no throttling.
NO_WAITING_HELPS = frozenset({"insufficient_quota", "billing_not_active"})
# Key, account, path, method or format are wrong.
MISCONFIGURED = (401, 402, 404, 405, 410, 415)
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
# No tokenizer makes more of a text than its bytes and a few marks.
MARKS_PER_TEXT = 100


class ForbiddenError(FailureError):
    """The provider answered 403: for the key, or, before it, for what the request says."""


class OpenAiEmbedder:
    """Asks for vectors in one request; the queue does the waiting, not the SDK."""

    def __init__(
        self, target: TargetSettings, api_key: Callable[[bool], str], *, is_query: bool = False
    ) -> None:
        """`api_key(True)` fetches the key anew, for when the cached one is refused."""
        self._target = target
        self._fields = _fields(target, is_query=is_query)
        self._api_key = api_key
        self._client: openai.OpenAI | None = None
        self._transport = BoundedTransport(target.base_url or "https://api.openai.com")
        bytes_per_vector = target.dimensions * BYTES_PER_NUMBER + BYTES_PER_ITEM
        self.limits = replace(
            LIMITS,
            inputs_per_request=min(
                target.inputs_per_request or LIMITS.inputs_per_request,
                max(LARGEST_ANSWER_BYTES // bytes_per_vector, 1),
            ),
        )

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        """Return a vector or a failure per text, or raise the failure of the whole request."""
        bytes_per_vector = self._target.dimensions * BYTES_PER_NUMBER + BYTES_PER_ITEM
        self._transport.bound(
            seconds=timeout_seconds,
            max_bytes=len(texts) * bytes_per_vector + BYTES_BESIDE_ITEMS,
        )
        is_harmless = list(texts) == [HARMLESS]
        try:
            return self._ask(texts)
        except FailureError as error:
            if error.failure.kind is not FailureKind.CONFIGURATION and not is_harmless:
                raise
            if self._has_new_key():
                return self._ask(texts)
            if is_harmless or not isinstance(error, ForbiddenError):
                raise
            # A firewall before the provider refuses by content: this raises if it is not that.
            self._ask([HARMLESS])
            raise RefusedRequestError(
                Failure(FailureKind.INVALID_INPUT, error.failure.message)
            ) from error

    def _has_new_key(self) -> bool:
        """Read the key again: it may have been replaced since this process started."""
        key = self._api_key(True)
        if self._client is None or key == self._client.api_key:
            return False
        self._client = self._client.with_options(api_key=key)
        return True

    def _ask(self, texts: Sequence[str]) -> Embedded:
        if self._client is None:
            # Not before: a missing key is a failure of the provider, not of the process.
            self._client = _client(self._target, self._api_key(False), self._transport)
        try:
            # The raw answer, decoded by numpy, takes a third of the SDK's own path, which also
            # names a format in every request.
            answer = self._client.post(
                "/embeddings",
                cast_to=httpx2.Response,
                body={**self._fields, "input": list(texts)},
            )
        except openai.OpenAIError as error:
            raise _failure(error, _tokens(texts)) from error
        return _parse(answer.content, allowance(answer.headers), texts, self._target.dimensions)


def _fields(target: TargetSettings, *, is_query: bool) -> dict[str, Any]:
    """Return all of a request but its texts."""
    fields: dict[str, Any] = {"model": target.model}
    if target.encoding_format != "none":
        fields["encoding_format"] = target.encoding_format
    # Where it cannot be asked for, what comes is checked all the same.
    if sends_dimensions(target):
        fields["dimensions"] = target.dimensions
    return fields | (target.query_extra_body if is_query else target.document_extra_body)


def _client(target: TargetSettings, api_key: str, transport: httpx2.HTTPTransport) -> openai.OpenAI:
    # A redirect would take text and key to another host.
    http = httpx2.Client(transport=transport, follow_redirects=False)
    headers = dict(target.headers)
    if target.provider == "azure":
        return openai.AzureOpenAI(
            azure_endpoint=target.base_url or "",
            api_version=target.api_version,
            azure_deployment=target.model,
            api_key=api_key,
            max_retries=0,
            http_client=http,
            default_headers=headers,
        )
    return openai.OpenAI(
        api_key=api_key,
        base_url=target.base_url,
        max_retries=0,
        http_client=http,
        default_headers=headers,
    )


def _parse(body: bytes, allowed: Allowance, texts: Sequence[str], dimensions: int) -> Embedded:
    """Take nothing on trust: a wrong vector in the index is worse than none."""
    try:
        answer = _decoded(body)
        items = {_index(item.get("index", n)): item for n, item in enumerate(answer["data"])}
        usage = answer.get("usage")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FailureError(_wrong(f"the answer cannot be read ({type(error).__name__})")) from None
    if len(answer["data"]) != len(texts):
        raise FailureError(_wrong(f"{len(answer['data'])} vectors came for {len(texts)} texts"))
    if set(items) != set(range(len(texts))):
        raise FailureError(_wrong("the indexes of the vectors are not those of the texts"))
    results = [_result(items[n], dimensions) for n in range(len(texts))]
    return Embedded(results, _paid_tokens(usage, texts), allowed)


def _index(given: Any) -> Any:
    # Some servers write every number as text.
    return int(given) if isinstance(given, str) else given


def _decoded(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # NaN and Infinity are no JSON, but Python's own servers write and read them.
        return json.loads(body)


def _result(item: dict[str, Any], dimensions: int) -> "Vector | Failure":
    """Return an item's vector, or why it is none: the others of the answer are kept."""
    try:
        vector = _vector(item["embedding"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return _wrong("a vector cannot be read")
    if vector.shape != (dimensions,):
        return _wrong(f"a vector has {vector.size} dimensions, not {dimensions}")
    if not np.isfinite(vector).all():
        return _wrong("a vector holds NaN or infinity")
    if not vector.any():
        return _wrong("a vector is all zeros")
    return vector


def _vector(embedding: str | list[float]) -> Vector:
    # Some compatible providers ignore the asked format.
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    with np.errstate(over="ignore"):
        return np.asarray(embedding, dtype=np.float32)


def _tokens(texts: Sequence[str]) -> int:
    """Estimate the tokens of a request as the provider does before it counts."""
    return sum(-(-len(text.encode()) // LIMITS.bytes_per_token) for text in texts)


def _paid_tokens(usage: Any, texts: Sequence[str]) -> int:
    """Return the provider's count, or our own where it gives none or an impossible one."""
    count = usage.get("total_tokens") if isinstance(usage, dict) else None
    most = sum(len(text.encode()) + MARKS_PER_TEXT for text in texts)
    return count if type(count) is int and 0 < count <= most else _tokens(texts)


def _wrong(message: str) -> Failure:
    return Failure(FailureKind.PROVIDER_ERROR, f"the provider is wrong: {message}")


def _failure(error: openai.OpenAIError, tokens: int) -> FailureError:
    is_refused = isinstance(error.__cause__, NOT_CONNECTED)
    if isinstance(error, openai.APITimeoutError):
        message = "the provider did not answer in time"
        return FailureError(Failure(FailureKind.TIMEOUT, message, is_refused=is_refused))
    if isinstance(error.__cause__, TooLargeAnswerError):
        return FailureError(_wrong(str(error.__cause__)))
    if not isinstance(error, openai.APIStatusError):
        message = f"the provider was not reached: {type(error).__name__}"
        return FailureError(Failure(FailureKind.PROVIDER_ERROR, message, is_refused=is_refused))
    return _status_failure(error, tokens)


def _status_failure(error: openai.APIStatusError, tokens: int) -> FailureError:
    named = [str(name) for name in (error.code, error.type) if name is not None]
    codes = [name for name in named if CODE.fullmatch(name)]
    status, retry_after = error.status_code, retry_after_seconds(error.response.headers)
    message = f"the provider answered {status} {codes[0] if codes else ''}".strip()
    is_quota = status == 429 and not NO_WAITING_HELPS.isdisjoint(codes)
    # A redirect is not followed: the address in the settings is the one to correct.
    if is_quota or status < 400 or status in MISCONFIGURED:
        return FailureError(Failure(FailureKind.CONFIGURATION, message))
    if status == 413 or (status == 429 and _is_above_limit(error, tokens)):
        return TooLargeRequestError(Failure(FailureKind.INVALID_INPUT, message))
    match status:
        case 403:
            return ForbiddenError(Failure(FailureKind.CONFIGURATION, message))
        case 400 | 422:
            return RefusedRequestError(Failure(FailureKind.INVALID_INPUT, message))
        case _:
            kind = PASSING.get(status, FailureKind.PROVIDER_ERROR)
            is_refused = status not in GATEWAY_STATUSES
            return FailureError(Failure(kind, message, retry_after, is_refused=is_refused))


def _is_above_limit(error: openai.APIStatusError, tokens: int) -> bool:
    """Tell a request above the account's limit, which no waiting helps, from a busy minute."""
    rate = allowance(error.response.headers).tokens
    limit = rate.limit if rate is not None else None
    is_above = limit is not None and 0 < limit < tokens
    return is_above or "request too large" in str(error.message).lower()
