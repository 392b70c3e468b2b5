"""The listening socket of the model server; a connection can be made to end with a reset."""

from __future__ import annotations

import itertools
import socket
import struct
from typing import TYPE_CHECKING, Any

from local.loopback_server import LoopbackHttpServer
from local.model.http_handler import ModelRequestHandler

if TYPE_CHECKING:
    from local.model.embeddings_api import EmbeddingsApi

# On, with no time to linger: close sends RST instead of FIN.
_RESET = struct.pack("ii", 1, 0)


class ModelHttpServer(LoopbackHttpServer):
    """Knows the API that it answers for."""

    def __init__(self, api: EmbeddingsApi, port: int) -> None:
        """Bind the port; 0 takes a free one."""
        self.api = api
        self._request_numbers = itertools.count(1)
        self._to_reset: set[socket.socket] = set()
        super().__init__(port, ModelRequestHandler)

    def next_request_id(self) -> str:
        """Return an id that no other answer of this server carries."""
        return f"req_{next(self._request_numbers)}"

    def reset_at_close(self, connection: socket.socket) -> None:
        """Mark a connection to end with RST, as when the other side's process died."""
        self._to_reset.add(connection)

    def end_connection(self, request: Any) -> None:
        """End a connection the way it was marked."""
        if request in self._to_reset:
            self._to_reset.discard(request)
            request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.close_request(request)
        else:
            super().end_connection(request)
