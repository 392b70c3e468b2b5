"""An HTTP server on the loopback address; at close every connection and thread has ended."""

import contextlib
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

LOOPBACK = "127.0.0.1"
CLOSE_LIMIT_SECONDS = 10
POLL_SECONDS = 0.02


class LoopbackHttpServer(ThreadingHTTPServer):
    """One thread per connection."""

    request_queue_size = 256
    daemon_threads = True

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        """Bind the port; 0 takes a free one."""
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        super().__init__((LOOPBACK, port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Note the connection before its thread starts."""
        with self._changed:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection and forget it."""
        try:
            self.end_connection(request)
        finally:
            with self._changed:
                self._open.discard(request)
                self._changed.notify_all()

    def end_connection(self, request: Any) -> None:
        """End a connection."""
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Stop listening, wake every connection that waits for its client, and wait for its end."""
        super().server_close()
        with self._changed:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)
            self._changed.wait_for(lambda: not self._open, timeout=CLOSE_LIMIT_SECONDS)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that left in the middle; show anything else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class InBackground:
    """Serves in a thread from `start` to `close`, or for the length of a `with` block."""

    def __init__(self, http: LoopbackHttpServer, name: str) -> None:
        self._http = http
        self._thread = threading.Thread(
            target=http.serve_forever, args=(POLL_SECONDS,), name=name, daemon=True
        )

    @property
    def port(self) -> int:
        """Return the port that was bound."""
        return int(self._http.server_address[1])

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def close(self) -> None:
        """Stop answering and leave no thread and no connection behind."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()
