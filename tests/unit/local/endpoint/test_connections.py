"""Connections to clients and engines, where HTTP has its corners."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from local.endpoint import AwsEndpoint
from local.endpoint.engines import Engine
from local.endpoint.messages import Request

LIMIT_SECONDS = 10


class ClosesWithoutAWord(BaseHTTPRequestHandler):
    """An engine that drops each connection after one answer, as it drops idle ones."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def engine_url() -> Iterator[str]:
    """Run the engine."""
    with HTTPServer(("127.0.0.1", 0), ClosesWithoutAWord) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_engine_may_drop_idle_connections(engine_url: str) -> None:
    """R82: the next call connects again, and the client does not notice."""
    engine = Engine(engine_url)

    bodies = [engine.forward(Request("POST", "/", {}, b"%d" % n)).body for n in range(3)]

    engine.close()
    assert bodies == [b"0", b"1", b"2"]


def test_a_client_that_asks_first_gets_a_continue(endpoint: AwsEndpoint) -> None:
    """R82: S3 clients wait for this answer, up to a second for each object."""
    address = urlsplit(endpoint.url)
    with socket.create_connection(("127.0.0.1", address.port or 0), LIMIT_SECONDS) as client:
        head = "PUT /b/k HTTP/1.1", f"Host: {address.netloc}", "Content-Length: 4"
        client.sendall("\r\n".join((*head, "Expect: 100-continue", "", "")).encode())

        assert client.recv(1024).startswith(b"HTTP/1.1 100 Continue")

        client.sendall(b"body")
        assert client.recv(1024).startswith(b"HTTP/1.1 ")
