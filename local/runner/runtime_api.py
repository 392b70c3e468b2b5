"""Lambda's Runtime API for one function process, on the loopback address.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any, Protocol

from local.runner.invocation import PAYLOAD_LIMIT_BYTES, Invocation, error_answer, too_large

HOST = "127.0.0.1"
CLOSE_SECONDS = 2.0
RUNTIME = "/2018-06-01/runtime/"


@dataclass(frozen=True)
class Request:
    """One event on its way to the function."""

    request_id: str
    event: bytes
    function_arn: str
    trace_id: str
    timeout_seconds: float

    def headers(self) -> Mapping[str, str]:
        """Return what the runtime client reads beside the event; the clock starts here."""
        deadline = time.time() + self.timeout_seconds
        return {
            "Lambda-Runtime-Aws-Request-Id": self.request_id,
            "Lambda-Runtime-Deadline-Ms": str(int(deadline * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self.function_arn,
            "Lambda-Runtime-Trace-Id": self.trace_id,
        }


# What the process answered, as the invocation of a request id.
Outcome = Callable[[str], Invocation]


class Service(Protocol):
    """The other side of the API: it has events and takes answers."""

    def next_request(self) -> Request | None:
        """Wait for an event; None when there will be no more."""

    def finish(self, outcome: Outcome) -> None:
        """Take the end of one invocation."""

    def end(self, outcome: Outcome) -> None:
        """Take the end of the invocation and of the process."""


class RuntimeApi(ThreadingMixIn, HTTPServer):
    """The listening socket. Each process has its own, for that is how the client names itself."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, service: Service) -> None:
        """Listen on a free port."""
        super().__init__((HOST, 0), _Handler)
        self.service = service
        self._closing = False
        self._thread = threading.Thread(target=self._accept, name="runtime-api", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Return host and port, as AWS_LAMBDA_RUNTIME_API names them."""
        return f"{HOST}:{self.server_address[1]}"

    def close(self) -> None:
        """Stop listening; connections end with the process that holds them."""
        self._closing = True
        # accept() has no portable wake-up but a connection.
        with contextlib.suppress(OSError):
            socket.create_connection((HOST, self.server_address[1]), CLOSE_SECONDS).close()
        self._thread.join(CLOSE_SECONDS)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a process that was killed in the middle; show anything else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def _accept(self) -> None:
        while not self._closing:
            self.handle_request()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: RuntimeApi

    def do_GET(self) -> None:
        """Hand out the next event."""
        if self.path != f"{RUNTIME}invocation/next":
            return self._answer(404, {"errorType": "NotFound"})
        request = self.server.service.next_request()
        if request is None:
            self.close_connection = True
            return None
        self.send_response_only(200)
        for name, value in request.headers().items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(request.event)))
        self.end_headers()
        self.wfile.write(request.event)
        return self.wfile.flush()

    def do_POST(self) -> None:
        """Take the result of an invocation, its error, or that of the start."""
        body, service = self._body(), self.server.service
        match self.path.removeprefix(RUNTIME).split("/"):
            case ["invocation", _, "response"]:
                if len(body) > PAYLOAD_LIMIT_BYTES:
                    # The runtime client ends its process on this refusal.
                    service.end(lambda request_id: too_large(request_id, len(body)))
                    return self._answer(413, {"errorType": "RequestEntityTooLarge"})
                service.finish(lambda request_id: Invocation(request_id, body))
            case ["invocation", _, "error"]:
                service.finish(lambda request_id: error_answer(request_id, body))
            case ["init", "error"]:
                service.end(lambda request_id: error_answer(request_id, body))
            case _:
                return self._answer(404, {"errorType": "NotFound"})
        return self._answer(202, {"status": "OK"})

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, status: int, content: Mapping[str, str]) -> None:
        body = json.dumps(content).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the function's own log has what matters."""
