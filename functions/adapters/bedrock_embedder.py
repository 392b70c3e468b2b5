"""Amazon Bedrock -> vectors; its errors -> failures. IAM says who may ask: there is no key."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx2
import orjson
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from functions.adapters.bedrock_bodies import parse_answer, request_body, takes_one_text
from functions.adapters.bedrock_models import bedrock_model
from functions.adapters.bounded_boto import BoundedCalls
from functions.adapters.bounded_http import TooLargeAnswerError
from functions.adapters.provider_answer import (
    MisconfiguredError,
    answer_bytes,
    asked_again,
    estimated_tokens,
    not_reached,
    refusal,
    too_slow,
    wrong,
)
from functions.adapters.provider_headers import retry_after_seconds
from functions.core.failure import Failure, FailureError, FailureKind, RefusedRequestError
from functions.core.ports import HARMLESS, Embedded
from functions.core.settings import TargetSettings

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient

# Of the requests with one text each.
REQUESTS_AT_ONCE = 8
# Answers to come again later, whatever their status is: a quota has the one of a wrong request.
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html
TOO_MANY_REQUESTS = 429
COME_LATER = ("ThrottlingException", "ServiceQuotaExceededException", "ModelNotReadyException")
LONGEST_DETAIL = 300
# The queue does the waiting, not the SDK.
CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 1})


class BedrockEmbedder:
    """Asks for vectors in one request, or in one for each text where the model takes one."""

    def __init__(
        self, target: TargetSettings, client: Callable[..., Any], *, is_query: bool = False
    ) -> None:
        """`client` is that of a boto3 session."""
        self._target = target
        self._new_client = client
        self._is_query = is_query
        limits = bedrock_model(target.model).limits
        most = limits.inputs_per_request
        self.limits = replace(
            limits, inputs_per_request=min(target.inputs_per_request or most, most)
        )

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        """Return a vector or a failure per text, or raise the failure of the whole request."""
        deadline = time.monotonic() + timeout_seconds
        if not takes_one_text(self._target.model):
            return self._judge(texts, deadline)
        # Before any thread needs it.
        _ = self._connection
        stop = _Stop()
        answers = self._threads.map(lambda text: self._ask_one(text, deadline, stop), texts)
        return folded([*answers], texts)

    @cached_property
    def _connection(self) -> "tuple[BedrockRuntimeClient, BoundedCalls]":
        try:
            client: BedrockRuntimeClient = self._new_client(
                "bedrock-runtime",
                region_name=self._target.region,
                endpoint_url=self._target.base_url,
                config=CONFIG,
            )
        except BotoCoreError as error:
            raise _misconfigured(error) from error
        # What botocore cannot read it would raise as anything; the stubs do not know this event.
        handler: Any = _keep_strings
        client.meta.events.register("before-parse.bedrock-runtime.InvokeModel", handler)
        return client, BoundedCalls(client)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(REQUESTS_AT_ONCE, thread_name_prefix="bedrock")

    def _ask_one(self, text: str, deadline: float, stop: "_Stop") -> "Embedded | FailureError":
        if stop.failure is not None:
            return FailureError(replace(stop.failure, is_asked=False))
        try:
            return self._judge([text], deadline)
        except FailureError as error:
            stop.note(error.failure)
            # Without its stack, which would hold this embedder and its connections.
            return type(error)(error.failure)

    def _judge(self, texts: Sequence[str], deadline: float) -> Embedded:
        try:
            return self._ask(texts, deadline)
        except MisconfiguredError as error:
            if list(texts) == [HARMLESS]:
                raise
            return asked_again(error, lambda asked: self._ask(asked, deadline), texts)

    def _ask(self, texts: Sequence[str], deadline: float) -> Embedded:
        client, calls = self._connection
        calls.bound(
            seconds=deadline - time.monotonic(),
            max_bytes=answer_bytes(len(texts), self._target.dimensions),
        )
        body = request_body(texts, self._target, is_query=self._is_query)
        try:
            answer = client.invoke_model(
                modelId=self._target.model,
                body=orjson.dumps(body),
                contentType="application/json",
                accept="application/json",
            )
        except (ClientError, BotoCoreError, httpx2.HTTPError) as error:
            raise _failure(error, is_harmless=list(texts) == [HARMLESS]) from error
        headers = answer["ResponseMetadata"]["HTTPHeaders"]
        return parse_answer(answer["body"].read(), headers, texts, self._target)


def _keep_strings(response_dict: dict[str, Any], **_: Any) -> None:
    """Leave of an error's body what botocore can read: its status is enough."""
    if response_dict["status_code"] < 300:
        return
    try:
        fields = orjson.loads(response_dict["body"])
    except orjson.JSONDecodeError:
        fields = None
    pairs = fields.items() if isinstance(fields, dict) else ()
    strings = {name: value for name, value in pairs if isinstance(value, str)}
    response_dict["body"] = orjson.dumps(strings)


class _Stop:
    """Why the texts that still wait for their request get none: they would fail alike."""

    def __init__(self) -> None:
        self.failure: Failure | None = None
        self._lock = threading.Lock()

    def note(self, failure: Failure) -> None:
        with self._lock:
            if self.failure is None and failure.kind.traits.stops_lane:
                self.failure = failure


def folded(answers: "Sequence[Embedded | FailureError]", texts: Sequence[str]) -> Embedded:
    """Make one answer of those for single texts; where none has a vector, raise why.

    What was paid is kept: beside a vector, a failure is that of its text alone.
    """
    embedded = [one for one in answers if isinstance(one, Embedded)]
    errors = [one for one in answers if isinstance(one, FailureError)]
    if not embedded and errors:
        # What concerns all of them, first; a refusal last, as it is judged by its text.
        raise min(errors, key=_rank)
    return Embedded(
        [one.results[0] if isinstance(one, Embedded) else one.failure for one in answers],
        sum(map(_billed, answers, texts)),
        requests=max(len(embedded) + sum(one.failure.is_asked for one in errors), 1),
    )


def _billed(answer: "Embedded | FailureError", text: str) -> int:
    if isinstance(answer, Embedded):
        return answer.tokens
    return estimated_tokens([text]) if answer.failure.may_be_billed else 0


def _rank(error: FailureError) -> tuple[bool, bool]:
    return isinstance(error, RefusedRequestError), not error.failure.kind.traits.stops_lane


def _failure(
    error: ClientError | BotoCoreError | httpx2.HTTPError, *, is_harmless: bool
) -> FailureError:
    match error:
        case ClientError():
            return _refusal(error, is_harmless=is_harmless)
        case httpx2.TimeoutException():
            return too_slow(error)
        case TooLargeAnswerError():
            return FailureError(wrong(str(error)))
        case httpx2.HTTPError():
            return not_reached(error, error)
    # No credentials, an unknown region, a model id of another form.
    return _misconfigured(error)


def _refusal(error: ClientError, *, is_harmless: bool) -> FailureError:
    about = error.response["ResponseMetadata"]
    code, status = str(error.response["Error"].get("Code")), about["HTTPStatusCode"]
    refused = refusal(
        TOO_MANY_REQUESTS if code in COME_LATER else status,
        [code],
        retry_after=retry_after_seconds(about["HTTPHeaders"]),
    )
    if not is_harmless:
        return refused
    # It is about the role, the model or the region, and quotes no document.
    detail = str(error.response["Error"].get("Message", ""))[:LONGEST_DETAIL]
    failure = replace(refused.failure, message=f"{refused.failure.message}: {detail}")
    return type(refused)(failure)


def _misconfigured(error: Exception) -> FailureError:
    detail = str(error)[:LONGEST_DETAIL]
    return FailureError(Failure(FailureKind.CONFIGURATION, f"Bedrock cannot be called: {detail}"))
