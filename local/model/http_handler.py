"""HTTP in front of the embeddings API and of the control paths /faults and /counts."""

from __future__ import annotations

import json
import select
import socket
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from local.model.api_errors import ApiError, Reply, invalid_input, unknown_path
from local.model.faults import FaultError, FaultKind, parse_faults

if TYPE_CHECKING:
    from local.model.embeddings_api import Dropped, EmbeddingsApi
    from local.model.http_server import ModelHttpServer

LARGEST_BODY_BYTES = 64 * 1024 * 1024
_OPENAI_PATHS = ("/v1/embeddings", "/openai/v1/embeddings")
_AZURE_PREFIX, _AZURE_SUFFIX = "/openai/deployments/", "/embeddings"
_LOOK_AT_CLIENT_SECONDS = 0.05


class ModelRequestHandler(BaseHTTPRequestHandler):
    """Reads one request after another from a connection that is kept alive."""

    protocol_version = "HTTP/1.1"
    server_version = "embedq-model-server"
    sys_version = ""
    # Head and body leave in one write, and at once: Nagle's algorithm would hold the second
    # packet of an answer back for up to 40 ms.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer GET."""
        self._answer()

    def do_POST(self) -> None:
        """Answer POST."""
        self._answer()

    def do_PUT(self) -> None:
        """Answer PUT."""
        self._answer()

    def do_DELETE(self) -> None:
        """Answer DELETE."""
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: /counts tells what was asked, and a load test asks often."""

    @property
    def _server(self) -> ModelHttpServer:
        return cast("ModelHttpServer", self.server)

    @property
    def _api(self) -> EmbeddingsApi:
        return self._server.api

    def _answer(self) -> None:
        try:
            outcome = self._route(self._read_body())
        except ApiError as error:
            outcome = error.reply()
        if isinstance(outcome, Reply):
            self._send(outcome)
        else:
            self._drop(outcome)

    def _read_body(self) -> bytes:
        length = self.headers.get("content-length", "0")
        if "transfer-encoding" in self.headers or not length.isdecimal():
            self.close_connection = True
            raise ApiError(411, "Send the body in one piece, with a content-length header.")
        if int(length) > LARGEST_BODY_BYTES:
            self.close_connection = True
            raise ApiError(413, f"The body has {length} bytes, at most {LARGEST_BODY_BYTES}.")
        return self.rfile.read(int(length))

    def _route(self, body: bytes) -> Reply | Dropped:
        url = urlsplit(self.path)
        deployment = _deployment(url.path, url.query)
        if self.command == "POST" and (deployment or url.path in _OPENAI_PATHS):
            return self._api.handle(body, key=self._key(), deployment=deployment)
        match (self.command, url.path):
            case ("PUT", "/faults"):
                self._api.plan.replace(*_faults(body))
            case ("DELETE", "/faults"):
                self._api.plan.replace()
            case ("DELETE", "/counts"):
                self._api.counts.reset()
            case ("GET", "/faults" | "/counts"):
                pass
            case _:
                raise unknown_path(self.command, url.path)
        state = self._api.plan if url.path == "/faults" else self._api.counts
        return Reply(200, json.dumps(state.as_json()).encode())

    def _key(self) -> str | None:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else None
        return self.headers.get("api-key") or bearer

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("content-type", reply.content_type)
        self.send_header("content-length", str(len(reply.body)))
        self.send_header("x-request-id", self._server.next_request_id())
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(reply.body)

    def _drop(self, dropped: Dropped) -> None:
        self.close_connection = True
        if dropped.how is FaultKind.RESET:
            self._server.reset_at_close(self.connection)
            return
        end = None if dropped.seconds is None else time.monotonic() + dropped.seconds
        while not (dropped.removed.wait(_LOOK_AT_CLIENT_SECONDS) or self._api.closing.is_set()):
            if _has_left(self.connection) or (end is not None and time.monotonic() >= end):
                return


def _deployment(path: str, query: str) -> str | None:
    """Return the deployment that an Azure path names; Azure knows no path without a version."""
    if not (path.startswith(_AZURE_PREFIX) and path.endswith(_AZURE_SUFFIX)):
        return None
    name = unquote(path[len(_AZURE_PREFIX) : -len(_AZURE_SUFFIX)])
    if not name or "/" in name or not parse_qs(query).get("api-version"):
        raise ApiError(404, "Resource not found", code="404")
    return name


def _faults(body: bytes) -> tuple[Any, ...]:
    try:
        return parse_faults(json.loads(body))
    except FaultError as error:
        raise invalid_input(str(error), param=None) from error
    except ValueError as error:
        message = f"The fault plan is not JSON: {error}. See --help for an example."
        raise invalid_input(message, param=None) from error


def _has_left(connection: socket.socket) -> bool:
    readable, _, _ = select.select([connection], [], [], 0)
    if not readable:
        return False
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except ConnectionError:
        return True
