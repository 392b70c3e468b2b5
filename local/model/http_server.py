"""The listening socket and its connections: every one is closed, and its thread over, at close."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import sys
import threading
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from local.model.http_handler import ModelRequestHandler

if TYPE_CHECKING:
    from local.model.embeddings_api import EmbeddingsApi

HOST = "127.0.0.1"
_CLOSE_LIMIT_SECONDS = 10
# On, with no time to linger: close sends RST instead of FIN.
_RESET = struct.pack("ii", 1, 0)


class ModelHttpServer(ThreadingHTTPServer):
    """One thread per connection, on the loopback address only."""

    request_queue_size = 256
    daemon_threads = True

    def __init__(self, api: EmbeddingsApi, port: int) -> None:
        """Bind the port; 0 takes a free one."""
        self.api = api
        self._request_numbers = itertools.count(1)
        self._open: set[socket.socket] = set()
        self._to_reset: set[socket.socket] = set()
        self._changed = threading.Condition()
        super().__init__((HOST, port), ModelRequestHandler)

    def next_request_id(self) -> str:
        """Return an id that no other answer of this server carries."""
        return f"req_{next(self._request_numbers)}"

    def reset_at_close(self, connection: socket.socket) -> None:
        """Mark a connection to end with RST, as when the other side's process died."""
        self._to_reset.add(connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Note the connection before its thread starts."""
        with self._changed:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection the way it was marked, and forget it."""
        try:
            if request in self._to_reset:
                self._to_reset.discard(request)
                request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                self.close_request(request)
            else:
                super().shutdown_request(request)
        finally:
            with self._changed:
                self._open.discard(request)
                self._changed.notify_all()

    def server_close(self) -> None:
        """Stop listening, wake every connection that waits for its client, and wait for its end."""
        super().server_close()
        with self._changed:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)
            self._changed.wait_for(lambda: not self._open, timeout=_CLOSE_LIMIT_SECONDS)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that left in the middle; show anything else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
