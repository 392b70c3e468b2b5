"""The HTTP server of one-machine mode answers programs of this machine only."""

import http.client
import socket
import threading
from collections.abc import Iterator

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from local.http_server import LoopbackServer


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    """Run a server that says hello."""
    with LoopbackServer(PlainTextResponse("hello"), port=0, name="hello") as server:
        yield server


def status(server: LoopbackServer, **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request("GET", "/", headers=headers)
    found = connection.getresponse().status
    connection.close()
    return found


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:80", "bucket.localhost", "[::1]:80"])
def test_names_of_this_machine_are_answered(server: LoopbackServer, host: str) -> None:
    """R82: an SDK may put a bucket before the name."""
    assert status(server, Host=host) == 200


@pytest.mark.parametrize("host", ["example.com", "localhost.example.com", "192.0.2.1", ""])
def test_another_name_is_refused(server: LoopbackServer, host: str) -> None:
    """R82: a web page cannot reach the server through a name that it made point here."""
    assert status(server, Host=host) == 403


def test_a_request_with_an_origin_is_refused(server: LoopbackServer) -> None:
    """R82: browsers name the origin of a page that calls, SDKs have none."""
    assert status(server, Origin="http://localhost") == 403


def test_client_that_leaves_in_its_request_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """R82: a killed function does so; the log of a stack shows only what went wrong."""
    ended = threading.Event()

    async def read(scope: Scope, receive: Receive, _: Send) -> None:
        try:
            await Request(scope, receive).body()
        finally:
            ended.set()

    with LoopbackServer(read, port=0, name="reader") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf")
        assert ended.wait(10)

    assert caplog.records == []
