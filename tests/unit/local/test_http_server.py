"""The HTTP server of one-machine mode answers programs of this machine only."""

import http.client
from collections.abc import Iterator

import pytest
from starlette.responses import PlainTextResponse

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
