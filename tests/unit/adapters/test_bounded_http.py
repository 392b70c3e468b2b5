"""Providers that misbehave below HTTP: endless answers, huge answers, closed connections."""

import gzip
import json
import time
import tracemalloc

import pytest

from functions.adapters.openai_embedder import OpenAiEmbedder
from functions.adapters.provider_answer import LARGEST_ANSWER_BYTES
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ports import Embedded
from tests.builders import make_target
from tests.unit.adapters.raw_server import Connection, RawServer

BODY = json.dumps({"data": [{"index": 0, "embedding": [1.0, 2.0]}]}).encode()


def embedder(server: RawServer) -> OpenAiEmbedder:
    return OpenAiEmbedder(make_target(base_url=server.url, dimensions=2), lambda _: "key")


def embed(server: RawServer, *, seconds: float = 5) -> Embedded:
    return embedder(server).embed(["hello"], timeout_seconds=seconds)


def http(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@pytest.mark.parametrize("sent_at_once", [0, 60], ids=["headers", "body"])
def test_answer_that_trickles_in_ends_at_the_deadline(sent_at_once: int) -> None:
    """R22: the timeout is one of the whole answer, not of each read."""

    def play(connection: Connection) -> None:
        connection.request()
        connection.send(http(BODY)[:sent_at_once])
        connection.trickle(http(BODY)[sent_at_once:], seconds=0.1)

    with RawServer(play) as server:
        began = time.monotonic()
        with pytest.raises(FailureError) as caught:
            embed(server, seconds=0.5)

    assert caught.value.failure == Failure(
        FailureKind.TIMEOUT, "the provider did not answer in time"
    )
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("is_gzip", [True, False])
def test_answer_larger_than_its_vectors_is_not_read(is_gzip: bool) -> None:
    """R22: neither a gigabyte nor a small gzip that holds one fills the memory."""
    body = b'{"data": [' + b" " * 60_000_000
    data = http(gzip.compress(body, 1), "content-encoding: gzip") if is_gzip else http(body)

    def play(connection: Connection) -> None:
        connection.request()
        connection.send(data)

    with RawServer(play) as server:
        tracemalloc.start()
        with pytest.raises(FailureError, match="the provider is wrong: the answer has more than"):
            embed(server)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert peak < 20_000_000


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip"])
@pytest.mark.parametrize("parts", [[BODY], [BODY[:9], BODY[9:]]], ids=["one", "two members"])
@pytest.mark.parametrize("padding", [0, 10, 300_000], ids="{} zeros".format)
def test_compressed_answer_is_read(encoding: str, parts: list[bytes], padding: int) -> None:
    """R14: gateways compress, and some fill up what they send."""
    body = b"".join(gzip.compress(part) + bytes(padding) for part in parts)

    def play(connection: Connection) -> None:
        connection.request()
        connection.send(http(body, f"content-encoding: {encoding}"))

    with RawServer(play) as server:
        assert [one.tolist() for one in embed(server).vectors] == [[1, 2]]


@pytest.mark.parametrize("encoding", ["br", "gzip"])
def test_answer_in_an_unknown_encoding_is_a_provider_error(encoding: str) -> None:
    """R22: or in none of the named one."""

    def play(connection: Connection) -> None:
        connection.request()
        connection.send(http(BODY, f"content-encoding: {encoding}"))

    with RawServer(play) as server, pytest.raises(FailureError) as caught:
        embed(server)

    assert caught.value.failure.kind is FailureKind.PROVIDER_ERROR


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(b"x" * 400_000, "identity"), (BODY, "br"), (BODY, "gzip")],
    ids=["too large", "unknown encoding", "not gzip"],
)
def test_error_keeps_its_status_when_its_body_cannot_be_read(body: bytes, encoding: str) -> None:
    """R22 R23: a 429 is one, and says when to come again."""
    headers = (f"content-encoding: {encoding}", "retry-after: 30")

    def play(connection: Connection) -> None:
        connection.request()
        connection.send(http(body, *headers, status="429 Too Many Requests"))

    with RawServer(play) as server, pytest.raises(FailureError) as caught:
        embed(server)

    assert caught.value.failure == Failure(
        FailureKind.THROTTLED, "the provider answered 429", 30, is_refused=True
    )


@pytest.mark.parametrize("cut", [None, -9], ids=["whole", "in part"])
def test_answer_that_was_there_before_its_request_is_not_taken(cut: int | None) -> None:
    """R09 R22: a second answer to one request holds the vectors of other texts."""
    other = http(BODY.replace(b"1.0, 2.0", b"3.0, 4.0"))

    def play(connection: Connection) -> None:
        connection.request()
        if server.connections > 1:
            connection.send(other)
            return
        connection.send(http(BODY) + http(BODY)[:cut])
        connection.request()

    with RawServer(play) as server:
        provider = embedder(server)
        answers = [provider.embed([text], timeout_seconds=5) for text in ("one", "other")]

    assert [one.vectors[0].tolist() for one in answers] == [[1, 2], [3, 4]]


def test_kept_connection_that_was_closed_costs_no_attempt() -> None:
    """R22: the server closes it as the next request comes, and has not seen that."""

    def play(connection: Connection) -> None:
        connection.request()
        connection.send(http(BODY))
        if server.connections == 1:
            connection.request()

    with RawServer(play) as server:
        provider = embedder(server)
        first = provider.embed(["hello"], timeout_seconds=5)
        second = provider.embed(["hello"], timeout_seconds=5)

        assert (len(first.vectors), len(second.vectors), server.connections) == (1, 1, 2)


def test_new_connection_that_is_closed_is_not_tried_again() -> None:
    """R22: that is the provider's error, and the queue does the waiting."""

    def play(connection: Connection) -> None:
        connection.request()

    with RawServer(play) as server:
        with pytest.raises(FailureError, match="provider_error: the provider was not reached"):
            embed(server)

        assert server.connections == 1


@pytest.mark.parametrize("dimensions", [16, 1536, 3072])
def test_requests_are_packed_below_the_largest_answer(dimensions: int) -> None:
    """R09: also where the numbers come as text."""
    target = make_target(base_url="http://127.0.0.1:9", dimensions=dimensions)

    inputs = OpenAiEmbedder(target, lambda _: "key").limits.inputs_per_request

    assert 700 < inputs <= 2048
    assert inputs * dimensions * 26 <= LARGEST_ANSWER_BYTES


def test_cookies_are_not_sent_back() -> None:
    """R22: with a new one in each answer, requests would grow until the provider refuses them."""
    asked: list[bytes] = []

    def play(connection: Connection) -> None:
        for number in range(2):
            asked.append(connection.request())
            connection.send(http(BODY, f"set-cookie: visit{number}=1; path=/"))

    with RawServer(play) as server:
        mine = embedder(server)
        for _ in range(2):
            mine.embed(["hello"], timeout_seconds=5)

    assert len(asked) == 2
    assert not any(b"cookie" in request.lower() for request in asked)
