"""OpenAI, Azure OpenAI and compatible providers -> vectors; their errors -> failures."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import httpx2
import openai

from functions.adapters.bounded_http import BoundedTransport, TooLargeAnswerError
from functions.adapters.openai_limits import LIMITS, sends_dimensions
from functions.adapters.provider_answer import (
    MisconfiguredError,
    answer_bytes,
    asked_again,
    checked,
    decoded,
    estimated_tokens,
    most_inputs,
    not_reached,
    paid_tokens,
    refusal,
    too_slow,
    wrong,
)
from functions.adapters.provider_headers import allowance, retry_after_seconds
from functions.core.failure import FailureError, FailureKind
from functions.core.ports import HARMLESS, Allowance, Embedded
from functions.core.settings import TargetSettings


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
        most = target.inputs_per_request or LIMITS.inputs_per_request
        self.limits = replace(LIMITS, inputs_per_request=min(most, most_inputs(target.dimensions)))

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        """Return a vector or a failure per text, or raise the failure of the whole request."""
        self._transport.bound(
            seconds=timeout_seconds, max_bytes=answer_bytes(len(texts), self._target.dimensions)
        )
        is_harmless = list(texts) == [HARMLESS]
        try:
            return self._ask(texts)
        except FailureError as error:
            if error.failure.kind is not FailureKind.CONFIGURATION and not is_harmless:
                raise
            if self._has_new_key():
                return self._ask(texts)
            if is_harmless or not isinstance(error, MisconfiguredError):
                raise
            return asked_again(error, self._ask, texts)

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
            raise _failure(error, texts) from error
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
        answer = decoded(body)
        items = {_index(item.get("index"), n): item for n, item in enumerate(answer["data"])}
        usage = answer.get("usage")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FailureError(wrong(f"the answer cannot be read ({type(error).__name__})")) from None
    if len(answer["data"]) != len(texts):
        raise FailureError(wrong(f"{len(answer['data'])} vectors came for {len(texts)} texts"))
    if set(items) != set(range(len(texts))):
        raise FailureError(wrong("the indexes of the vectors are not those of the texts"))
    results = [checked(items[n].get("embedding"), dimensions) for n in range(len(texts))]
    count = usage.get("total_tokens") if isinstance(usage, dict) else None
    return Embedded(results, paid_tokens(count, texts), allowed)


def _index(given: Any, position: int) -> Any:
    if given is None:
        return position
    # Some servers write every number as text.
    return int(given) if isinstance(given, str) else given


def _failure(error: openai.OpenAIError, texts: Sequence[str]) -> FailureError:
    if isinstance(error, openai.APITimeoutError):
        return too_slow(error.__cause__)
    if isinstance(error.__cause__, TooLargeAnswerError):
        return FailureError(wrong(str(error.__cause__)))
    if not isinstance(error, openai.APIStatusError):
        return not_reached(error, error.__cause__)
    return refusal(
        error.status_code,
        (error.code, error.type),
        retry_after=retry_after_seconds(error.response.headers),
        is_above_limit=_is_above_limit(error, texts),
    )


def _is_above_limit(error: openai.APIStatusError, texts: Sequence[str]) -> bool:
    """Tell a request above the account's limit, which no waiting helps, from a busy minute."""
    rate = allowance(error.response.headers).tokens
    limit = rate.limit if rate is not None else None
    # By a number that may mean anything a request is split, but no single text is condemned.
    is_above = len(texts) > 1 and limit is not None and 0 < limit < estimated_tokens(texts)
    return is_above or "request too large" in str(error.message).lower()
