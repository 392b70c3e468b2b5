"""OpenAI, Azure OpenAI and compatible providers -> vectors; their errors -> failures."""

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import openai
import orjson

from functions.adapters.openai_limits import LIMITS, can_shorten
from functions.adapters.provider_headers import allowance, retry_after_seconds
from functions.core.failure import (
    Failure,
    FailureError,
    FailureKind,
    RefusedRequestError,
    TooLargeRequestError,
)
from functions.core.ports import Allowance, Embedded
from functions.core.settings import TargetSettings

if TYPE_CHECKING:
    from functions.core.entry import Vector

# 429 that is no throttling.
NO_WAITING_HELPS = ("insufficient_quota", "billing_not_active")


class OpenAiEmbedder:
    """Asks for vectors in one request; the queue does the waiting, not the SDK."""

    def __init__(self, target: TargetSettings, api_key: Callable[[bool], str]) -> None:
        """`api_key(True)` fetches the key anew, for when the cached one is refused."""
        self._target = target
        self._api_key = api_key
        self._client: openai.OpenAI | None = None
        self.limits = LIMITS

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        """Return one vector per text, or raise a FailureError."""
        if self._client is None:
            # Not before: a missing key is a failure of the provider, not of the process.
            self._client = _client(self._target, self._api_key(False))
        try:
            answer = self._create(self._client, texts, timeout_seconds)
        except openai.AuthenticationError as refused:
            answer = self._create_with_fresh_key(self._client, refused, texts, timeout_seconds)
        except openai.OpenAIError as error:
            raise _failure(error) from error
        body, allowed = answer
        return _parse(body, allowed, len(texts), self._target.dimensions)

    def _create_with_fresh_key(
        self,
        client: openai.OpenAI,
        refused: openai.AuthenticationError,
        texts: Sequence[str],
        timeout_seconds: float,
    ) -> tuple[bytes, Allowance]:
        # The key may have been rotated since this process started.
        key = self._api_key(True)
        if key == client.api_key:
            raise _failure(refused) from refused
        client.close()
        self._client = _client(self._target, key)
        try:
            return self._create(self._client, texts, timeout_seconds)
        except openai.OpenAIError as error:
            raise _failure(error) from error

    def _create(
        self, client: openai.OpenAI, texts: Sequence[str], timeout_seconds: float
    ) -> tuple[bytes, Allowance]:
        options: dict[str, Any] = {}
        # Where it cannot be asked for, what comes is checked all the same.
        if can_shorten(self._target.provider, self._target.model):
            options["dimensions"] = self._target.dimensions
        # The raw answer, decoded by numpy, takes a third of the SDK's own path.
        answer = client.embeddings.with_raw_response.create(
            model=self._target.model,
            input=list(texts),
            encoding_format="base64",
            timeout=timeout_seconds,
            **options,
        )
        return answer.content, allowance(answer.headers)


def _client(target: TargetSettings, api_key: str) -> openai.OpenAI:
    if target.provider == "azure":
        return openai.AzureOpenAI(
            azure_endpoint=target.base_url or "",
            api_version=target.api_version,
            azure_deployment=target.model,
            api_key=api_key,
            max_retries=0,
        )
    return openai.OpenAI(api_key=api_key, base_url=target.base_url, max_retries=0)


def _parse(body: bytes, allowed: Allowance, count: int, dimensions: int) -> Embedded:
    """Take nothing on trust: a wrong vector in the index is worse than none."""
    try:
        answer = orjson.loads(body)
        by_index = {item["index"]: _vector(item["embedding"]) for item in answer["data"]}
        tokens = int((answer.get("usage") or {}).get("total_tokens") or 0)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise _wrong(f"the answer cannot be read ({type(error).__name__})") from None
    if len(answer["data"]) != count:
        raise _wrong(f"{len(answer['data'])} vectors came for {count} texts")
    if set(by_index) != set(range(count)):
        raise _wrong("the indexes of the vectors are not those of the texts")
    vectors = [by_index[number] for number in range(count)]
    for vector in vectors:
        if vector.shape != (dimensions,):
            raise _wrong(f"a vector has {vector.size} dimensions, not {dimensions}")
        if not np.isfinite(vector).all():
            raise _wrong("a vector holds NaN or infinity")
        if not vector.any():
            raise _wrong("a vector is all zeros")
    return Embedded(vectors, tokens, allowed)


def _vector(embedding: str | list[float]) -> "Vector":
    # Some compatible providers ignore the asked format.
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    return np.asarray(embedding, dtype=np.float32)


def _wrong(message: str) -> FailureError:
    return FailureError(Failure(FailureKind.PROVIDER_ERROR, f"the provider is wrong: {message}"))


def _failure(error: openai.OpenAIError) -> FailureError:
    if isinstance(error, openai.APITimeoutError):
        return FailureError(Failure(FailureKind.TIMEOUT, "the provider did not answer in time"))
    if not isinstance(error, openai.APIStatusError):
        detail = type(error).__name__
        return FailureError(
            Failure(FailureKind.PROVIDER_ERROR, f"the provider was not reached: {detail}")
        )
    return _status_failure(error)


def _status_failure(error: openai.APIStatusError) -> FailureError:
    # The provider's message may quote the input: only its code is kept.
    code = str(error.code or error.type or "")
    message = f"the provider answered {error.status_code} {code}".strip()
    match error.status_code:
        case 429 if code in NO_WAITING_HELPS:
            return FailureError(Failure(FailureKind.CONFIGURATION, message))
        case 413 | 429 if error.status_code == 413 or _says_too_large(error):
            return TooLargeRequestError(Failure(FailureKind.INVALID_INPUT, message))
        case 429:
            return FailureError(
                Failure(FailureKind.THROTTLED, message, retry_after_seconds(error.response.headers))
            )
        case 401 | 402 | 403 | 404:
            return FailureError(Failure(FailureKind.CONFIGURATION, message))
        case 408:
            return FailureError(Failure(FailureKind.TIMEOUT, message))
        case 400 | 422:
            return RefusedRequestError(Failure(FailureKind.INVALID_INPUT, message))
        case _:
            return FailureError(Failure(FailureKind.PROVIDER_ERROR, message))


def _says_too_large(error: openai.APIStatusError) -> bool:
    """Tell a request above the account's limit, which no waiting helps, from a busy minute."""
    return "request too large" in str(error.message).lower()
