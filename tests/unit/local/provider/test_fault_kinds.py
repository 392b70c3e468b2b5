"""Each kind of fault, as the real SDK meets it."""

from __future__ import annotations

import json
import threading
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import numpy as np
import openai
import pytest

from local.provider.faults import Fault, FaultKind, RetryAfter

if TYPE_CHECKING:
    from local.provider.server import ModelServer

MODEL = "text-embedding-3-small"
TEXTS = ["one", "two", "three"]


def embed(client: openai.OpenAI) -> list[tuple[int, list[float]]]:
    response = client.embeddings.create(model=MODEL, input=TEXTS, dimensions=16)
    return [(item.index, item.embedding) for item in response.data]


@pytest.mark.parametrize(
    ("fault", "error", "code"),
    [
        (Fault(FaultKind.RATE_LIMITED), openai.RateLimitError, "rate_limit_exceeded"),
        (Fault(FaultKind.INSUFFICIENT_QUOTA), openai.RateLimitError, "insufficient_quota"),
        (Fault(FaultKind.UNAUTHORIZED), openai.AuthenticationError, "invalid_api_key"),
        (Fault(FaultKind.UNKNOWN_MODEL), openai.NotFoundError, "model_not_found"),
        (Fault(FaultKind.SERVER_ERROR), openai.InternalServerError, None),
        (Fault(FaultKind.POISON, marker="wo"), openai.BadRequestError, None),
        (Fault(FaultKind.TOO_LARGE), openai.APIStatusError, "rate_limit_exceeded"),
    ],
    ids=lambda value: str(value.kind) if isinstance(value, Fault) else None,
)
def test_refusal_is_the_sdks_own_exception(
    server: ModelServer,
    client: openai.OpenAI,
    fault: Fault,
    error: type[openai.APIStatusError],
    code: str | None,
) -> None:
    """R81: a fault looks as OpenAI's own refusal does."""
    server.faults(fault)

    with pytest.raises(error) as caught:
        embed(client)

    assert caught.value.code == code


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (Fault(FaultKind.SERVER_ERROR, status=503), 503),
        (Fault(FaultKind.TOO_LARGE), 413),
        (Fault(FaultKind.TOO_LARGE, status=429), 429),
        (Fault(FaultKind.HTML, status=502), 502),
    ],
)
def test_status_is_the_asked_one(
    server: ModelServer, client: openai.OpenAI, fault: Fault, status: int
) -> None:
    """R81: kinds with several statuses take the asked one."""
    server.faults(fault)

    with pytest.raises(openai.APIStatusError) as caught:
        embed(client)

    assert caught.value.status_code == status


def test_rate_limit_says_when_to_come_again_in_each_way(
    server: ModelServer, client: openai.OpenAI
) -> None:
    """R23: Retry-After as seconds, as a date, in milliseconds, and not at all."""
    headers = {}
    for way in RetryAfter:
        server.faults(Fault(FaultKind.RATE_LIMITED, retry_after=way, seconds=90))
        with pytest.raises(openai.RateLimitError) as caught:
            embed(client)
        headers[way] = caught.value.response.headers

    assert headers[RetryAfter.SECONDS]["retry-after"] == "90"
    assert headers[RetryAfter.MILLISECONDS]["retry-after-ms"] == "90000"
    date = parsedate_to_datetime(headers[RetryAfter.DATE]["retry-after"])
    assert 80 < date.timestamp() - time.time() <= 91
    assert "retry-after" not in headers[RetryAfter.NONE]
    assert "retry-after-ms" not in headers[RetryAfter.NONE]


def test_latency_delays_the_answer_and_joins_with_another_fault(
    server: ModelServer, client: openai.OpenAI
) -> None:
    """R81: a slow provider, and a slow failure."""
    server.faults(Fault(FaultKind.LATENCY, seconds=0.05), Fault(FaultKind.SERVER_ERROR, requests=1))

    start = time.monotonic()
    with pytest.raises(openai.InternalServerError):
        embed(client)
    embed(client)

    assert time.monotonic() - start >= 0.1


def test_hang_ends_in_the_clients_timeout(server: ModelServer, client: openai.OpenAI) -> None:
    """R81: no answer in time."""
    server.faults(Fault(FaultKind.HANG))

    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.1).embeddings.create(model=MODEL, input="text")

    assert server.counts()["statuses"] == {"hang": 1}


def test_hang_ends_when_the_fault_is_removed(server: ModelServer, client: openai.OpenAI) -> None:
    """R81: healing the server lets go of every request that hangs."""
    server.faults(Fault(FaultKind.HANG))
    heal = threading.Timer(0.1, server.faults)
    heal.start()

    with pytest.raises(openai.APIConnectionError, match="Connection error"):
        embed(client)

    heal.join()
    assert len(embed(client)) == 3


def test_hang_ends_after_its_seconds(server: ModelServer, client: openai.OpenAI) -> None:
    """R81: a connection that ends late."""
    server.faults(Fault(FaultKind.HANG, seconds=0.05))

    with pytest.raises(openai.APIConnectionError, match="Connection error"):
        embed(client)


def test_reset_is_a_reset_and_not_a_clean_end(server: ModelServer, client: openai.OpenAI) -> None:
    """R81: the peer's process died."""
    server.faults(Fault(FaultKind.RESET))

    with pytest.raises(openai.APIConnectionError) as caught:
        embed(client)

    assert "reset by peer" in str(caught.value.__cause__)


def test_malformed_and_html_answers_cannot_be_read(
    server: ModelServer, client: openai.OpenAI
) -> None:
    """R81: a status of 200 is no promise of an answer."""
    bodies = []
    for kind in (FaultKind.MALFORMED_JSON, FaultKind.HTML):
        server.faults(Fault(kind))
        raw = client.embeddings.with_raw_response.create(model=MODEL, input=TEXTS)
        bodies.append((raw.status_code, raw.headers["content-type"], raw.http_response.text))

    with pytest.raises(json.JSONDecodeError):
        json.loads(bodies[0][2])
    assert bodies[0][:2] == (200, "application/json")
    assert bodies[1][:2] == (200, "text/html; charset=utf-8")
    assert bodies[1][2].startswith("<!DOCTYPE html>")


def test_answers_of_the_right_shape_with_wrong_contents(
    server: ModelServer, client: openai.OpenAI
) -> None:
    """R81: count, order, index, numbers and dimensions are each spoilt alone."""
    good = embed(client)
    spoilt = {}
    for kind in ("fewer_vectors", "wrong_order", "wrong_index", "nan", "wrong_dimensions"):
        server.faults(Fault(FaultKind(kind)))
        spoilt[kind] = embed(client)

    assert spoilt["fewer_vectors"] == good[:2]
    assert spoilt["wrong_order"] == good[::-1]
    assert spoilt["wrong_index"] == [(0, vector) for _, vector in good]
    assert [np.isnan(vector).sum() for _, vector in spoilt["nan"]] == [1, 0, 0]
    assert [len(vector) for _, vector in spoilt["wrong_dimensions"]] == [17, 17, 17]


def test_poison_hits_only_requests_with_its_marker(
    server: ModelServer, client: openai.OpenAI
) -> None:
    """R10: bisecting a refused request leads to the rejected input."""
    server.faults(Fault(FaultKind.POISON, marker="thr"))

    assert client.embeddings.create(model=MODEL, input=TEXTS[:2]).data
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model=MODEL, input=TEXTS[2])


def test_too_large_hits_only_requests_over_its_tokens(
    server: ModelServer, client: openai.OpenAI
) -> None:
    """R10: splitting such a request helps."""
    server.faults(Fault(FaultKind.TOO_LARGE, tokens=2, status=429))

    assert client.embeddings.create(model=MODEL, input=["four", "four"]).data
    with pytest.raises(openai.RateLimitError, match="Limit 2, Requested 3"):
        client.embeddings.create(model=MODEL, input=["four", "four", "four"])
