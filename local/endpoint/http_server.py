"""The listening socket of the endpoint and its connections, each with a thread of its own."""

import contextlib
import socket
import sys
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import Any

from local.endpoint.http_handler import EndpointRequestHandler
from local.endpoint.services import Services
from local.engines.ready import LOOPBACK

_CLOSE_LIMIT_SECONDS = 10


class EndpointHttpServer(ThreadingHTTPServer):
    """Listens on the loopback address only."""

    request_queue_size = 256
    daemon_threads = True

    def __init__(self, port: int, open_services: Callable[[], Services]) -> None:
        """Bind the port; 0 takes a free one."""
        self.open_services = open_services
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        super().__init__((LOOPBACK, port), EndpointRequestHandler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Note the connection before its thread starts."""
        with self._changed:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection and forget it."""
        try:
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
