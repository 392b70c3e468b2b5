"""An HTTP server on the loopback address that answers programs of this machine only."""

import socket
import struct
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

import uvicorn
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

LOOPBACK = "127.0.0.1"
CLOSE_LIMIT_SECONDS = 10
# Clients keep idle connections; closing one while a client uses it again is an error there.
IDLE_LIMIT_SECONDS = 3600
# Linger of zero seconds: the client gets a reset instead of an orderly end.
_RESET = struct.pack("ii", 1, 0)


class LoopbackServer:
    """Answers in a thread from `start` to `close`, or for the length of a `with` block."""

    def __init__(self, app: ASGIApp, *, port: int, name: str) -> None:
        """Bind the port; 0 takes a free one."""
        self._listener = socket.create_server((LOOPBACK, port), backlog=256)
        # Each connection inherits this: Nagle's algorithm would delay an answer's body by 40 ms.
        self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self._listener.getsockname()[1]
        self._server = uvicorn.Server(
            uvicorn.Config(
                _for_this_machine(app),
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=IDLE_LIMIT_SECONDS,
                timeout_graceful_shutdown=CLOSE_LIMIT_SECONDS,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, args=([self._listener],), name=name, daemon=True
        )

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def close(self) -> None:
        """Stop answering and leave no thread and no connection behind."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._listener.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def without_answer(self, *, is_reset: bool) -> Response:
        """Return what ends the connection of a request instead of an answer."""
        return _NoAnswer(self._server, is_reset=is_reset)


class _NoAnswer(Response):
    def __init__(self, server: uvicorn.Server, *, is_reset: bool) -> None:
        super().__init__()
        self._server = server
        self._is_reset = is_reset

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        # ASGI has no way to end a connection, so it is looked up by the client's address.
        for connection in self._server.server_state.connections:
            if isinstance(connection, H11Protocol) and connection.client == scope["client"]:
                if self._is_reset:
                    connected = connection.transport.get_extra_info("socket")
                    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                connection.transport.abort()
        while (await receive())["type"] != "http.disconnect":
            continue


def _for_this_machine(app: ASGIApp) -> ASGIApp:
    """Refuse what a web page could send: it names its origin, or reaches us by a foreign name."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        is_local = name in (LOOPBACK, "localhost", "::1") or name.endswith(".localhost")
        if "origin" in headers or not is_local:
            refusal = PlainTextResponse("Only programs of this machine are answered.", 403)
            await refusal(scope, receive, send)
        else:
            # A function that is killed leaves in the middle of its request.
            with suppress(ClientDisconnect):
                await app(scope, receive, send)

    return answer
