"""The provider's adapter on a real HTTP server: vectors, and each fault as its failure."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from functions.adapters.openai_embedder import OpenAiEmbedder
from functions.core.failure import (
    Failure,
    FailureError,
    FailureKind,
    RefusedRequestError,
    TooLargeRequestError,
)
from functions.core.ports import Embedded
from local.provider.faults import Fault, FaultKind, RetryAfter
from local.provider.server import ModelServer
from local.provider.vectors import HashedVectors
from tests.builders import make_target

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXTS = ["secret one", "secret two", "secret three"]
KEY = "the key"


def embed(
    server: ModelServer, texts: Sequence[str] = TEXTS, *, seconds: float = 10, **target: Any
) -> Embedded:
    settings = make_target(**{"base_url": server.url, **target})
    return OpenAiEmbedder(settings, lambda _: KEY).embed(texts, timeout_seconds=seconds)


def failure_of(server: ModelServer, fault: Fault, **options: Any) -> FailureError:
    server.faults(fault)
    with pytest.raises(FailureError) as caught:
        assert embed(server, **options).vectors
    shown = f"{caught.value} {caught.value.failure}"
    assert "secret" not in shown
    assert KEY not in shown
    return caught.value


def expected(texts: Sequence[str] = TEXTS, dimensions: int = 16) -> "NDArray[np.float32]":
    return HashedVectors().embed(texts, dimensions)


def test_each_text_gets_its_vector(model_server: ModelServer) -> None:
    """R09: one request, exact float32 numbers, in the order of the texts."""
    embedded = embed(model_server)

    assert np.stack(embedded.vectors).tobytes() == expected().tobytes()
    assert embedded.tokens > 0
    assert model_server.counts()["requests"] == 1


def test_answer_in_another_order_is_put_right(model_server: ModelServer) -> None:
    """R09: by the index of each vector."""
    model_server.faults(Fault(FaultKind.WRONG_ORDER))

    assert np.stack(embed(model_server).vectors).tobytes() == expected().tobytes()


def test_azure_through_the_same_sdk(model_server: ModelServer) -> None:
    """R14: the deployment in the path, the version in the query, the key in its own header."""
    embedded = embed(
        model_server,
        provider="azure",
        base_url=model_server.origin,
        api_version="2024-10-21",
        model="text-embedding-3-small",
    )

    assert np.stack(embedded.vectors).tobytes() == expected().tobytes()


def test_compatible_provider_is_not_asked_for_dimensions(model_server: ModelServer) -> None:
    """R14: many refuse the parameter; what they send is checked instead."""
    own = len(embed(model_server, ["x"], provider="compatible", dimensions=1536).vectors[0])

    assert own == 1536
    with pytest.raises(FailureError, match="a vector has 1536 dimensions, not 16"):
        assert embed(model_server, provider="compatible").vectors


def test_second_generation_model_is_not_asked_for_dimensions(model_server: ModelServer) -> None:
    """R14: text-embedding-ada-002 refuses the parameter."""
    embedded = embed(model_server, ["x"], model="text-embedding-ada-002", dimensions=1536)

    assert embedded.vectors[0].shape == (1536,)


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        (
            Fault(FaultKind.INSUFFICIENT_QUOTA),
            Failure(FailureKind.CONFIGURATION, "the provider answered 429 insufficient_quota"),
        ),
        (
            Fault(FaultKind.UNAUTHORIZED),
            Failure(FailureKind.CONFIGURATION, "the provider answered 401 invalid_api_key"),
        ),
        (
            Fault(FaultKind.UNKNOWN_MODEL),
            Failure(FailureKind.CONFIGURATION, "the provider answered 404 model_not_found"),
        ),
        (
            Fault(FaultKind.SERVER_ERROR),
            Failure(
                FailureKind.PROVIDER_ERROR,
                "the provider answered 500 server_error",
                is_refused=True,
            ),
        ),
        (
            Fault(FaultKind.SERVER_ERROR, status=503),
            Failure(
                FailureKind.PROVIDER_ERROR,
                "the provider answered 503 server_error",
                is_refused=True,
            ),
        ),
        (
            Fault(FaultKind.HTML, status=502),
            Failure(FailureKind.PROVIDER_ERROR, "the provider answered 502"),
        ),
        (
            Fault(FaultKind.HTML, status=403),
            Failure(FailureKind.CONFIGURATION, "the provider answered 403"),
        ),
        (
            Fault(FaultKind.RESET),
            Failure(FailureKind.PROVIDER_ERROR, "the provider was not reached: APIConnectionError"),
        ),
        (
            Fault(FaultKind.MALFORMED_JSON),
            Failure(
                FailureKind.PROVIDER_ERROR,
                "the provider is wrong: the answer cannot be read (JSONDecodeError)",
            ),
        ),
        (
            Fault(FaultKind.HTML),
            Failure(
                FailureKind.PROVIDER_ERROR,
                "the provider is wrong: the answer cannot be read (JSONDecodeError)",
            ),
        ),
        (
            Fault(FaultKind.FEWER_VECTORS),
            Failure(
                FailureKind.PROVIDER_ERROR, "the provider is wrong: 2 vectors came for 3 texts"
            ),
        ),
        (
            Fault(FaultKind.WRONG_INDEX),
            Failure(
                FailureKind.PROVIDER_ERROR,
                "the provider is wrong: the indexes of the vectors are not those of the texts",
            ),
        ),
        (
            Fault(FaultKind.NAN),
            Failure(
                FailureKind.PROVIDER_ERROR, "the provider is wrong: a vector holds NaN or infinity"
            ),
        ),
        (
            Fault(FaultKind.WRONG_DIMENSIONS),
            Failure(
                FailureKind.PROVIDER_ERROR,
                "the provider is wrong: a vector has 17 dimensions, not 16",
            ),
        ),
    ],
    ids=lambda value: f"{value.kind}-{value.status}" if isinstance(value, Fault) else "",
)
def test_fault_is_classified(model_server: ModelServer, fault: Fault, failure: Failure) -> None:
    """R22 R24: once, at the edge, in words without text or key."""
    assert failure_of(model_server, fault).failure == failure


@pytest.mark.parametrize(
    ("way", "seconds", "low", "high"),
    [
        (RetryAfter.SECONDS, 7, 7, 7),
        (RetryAfter.MILLISECONDS, 0.25, 0.25, 0.25),
        (RetryAfter.DATE, 30, 25, 31),
        (RetryAfter.DATE, 0, 0, 1),
        (RetryAfter.NONE, 7, None, None),
    ],
)
def test_throttling_tells_when_to_come_again(
    model_server: ModelServer, way: RetryAfter, seconds: float, low: float | None, high: float
) -> None:
    """R23: Retry-After as seconds, as milliseconds, as a date, or not at all."""
    fault = Fault(FaultKind.RATE_LIMITED, retry_after=way, seconds=seconds)

    failure = failure_of(model_server, fault).failure

    assert failure.kind is FailureKind.THROTTLED
    assert failure.message == "the provider answered 429 rate_limit_exceeded"
    asked = failure.retry_after_seconds
    assert asked is None if low is None else (asked is not None and low <= asked <= high)


def test_no_answer_in_time_is_a_timeout(model_server: ModelServer) -> None:
    """R22: within the seconds that the run has left, and not a retry more."""
    began = time.monotonic()

    failure = failure_of(model_server, Fault(FaultKind.HANG), seconds=0.2).failure

    assert failure == Failure(FailureKind.TIMEOUT, "the provider did not answer in time")
    assert time.monotonic() - began < 2
    assert model_server.counts()["statuses"] == {"hang": 1}


def test_nobody_listens_is_a_provider_error(model_server: ModelServer) -> None:
    """R22: a refused connection."""
    with pytest.raises(FailureError) as caught:
        embed(model_server, base_url="http://127.0.0.1:9/v1")

    assert caught.value.failure.kind is FailureKind.PROVIDER_ERROR


def test_refused_input_is_to_be_found(model_server: ModelServer) -> None:
    """R10: a 400 on a batch is bisected to the culprit."""
    error = failure_of(model_server, Fault(FaultKind.POISON, marker="two"))

    assert type(error) is RefusedRequestError
    assert error.failure == Failure(
        FailureKind.INVALID_INPUT, "the provider answered 400 invalid_request_error"
    )


@pytest.mark.parametrize("status", [413, 429])
def test_request_above_the_accounts_limit_is_to_be_split(
    model_server: ModelServer, status: int
) -> None:
    """R10: waiting never helps there, smaller requests do."""
    error = failure_of(model_server, Fault(FaultKind.TOO_LARGE, status=status))

    assert type(error) is TooLargeRequestError
    assert error.failure == Failure(
        FailureKind.INVALID_INPUT, f"the provider answered {status} rate_limit_exceeded"
    )


class _Zeros(HashedVectors):
    """A model that has nothing to say."""

    def embed(self, texts: Sequence[str], dimensions: int) -> "NDArray[np.float32]":
        return np.zeros((len(texts), dimensions), dtype=np.float32)


def test_zero_vector_is_a_provider_error() -> None:
    """R12: the index would refuse it for good, though the document is not the cause."""
    with (
        ModelServer(_Zeros()) as server,
        pytest.raises(FailureError, match="the provider is wrong: a vector is all zeros"),
    ):
        assert embed(server).vectors


def test_provider_that_was_never_connected_to_did_no_work() -> None:
    """R19: its cost is given back; a connection that broke later may have been billed."""
    settings = make_target(base_url="http://127.0.0.1:9")

    with pytest.raises(FailureError) as caught:
        OpenAiEmbedder(settings, lambda _: KEY).embed(TEXTS, timeout_seconds=5)

    assert caught.value.failure.kind is FailureKind.PROVIDER_ERROR
    assert caught.value.failure.is_refused
