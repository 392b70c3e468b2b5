"""A server of bytes on the loopback address: each connection is played by a function."""

import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

Play = Callable[["Connection"], None]


class Connection:
    """One connection, seen from the server."""

    def __init__(self, server: "RawServer", connected: socket.socket) -> None:
        self._server = server
        self._socket = connected

    def request(self) -> bytes:
        """Read one request with its body; empty once the client is gone."""
        data = b""
        while b"\r\n\r\n" not in data:
            part = self._socket.recv(65536)
            if not part:
                return b""
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        [length] = [
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length")
        ]
        while len(body) < length:
            body += self._socket.recv(65536)
        return head + b"\r\n\r\n" + body

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def trickle(self, data: bytes, *, seconds: float) -> None:
        """Send a byte, wait, and so on, until the client or the server has gone."""
        for byte in data:
            if self._server.closing.wait(seconds):
                return
            self._socket.sendall(bytes([byte]))


class RawServer:
    """Plays one connection after the other; `connections` counts them."""

    def __init__(self, play: Play) -> None:
        self.closing = threading.Event()
        self.connections = 0
        self._play = play
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        # Wakes the accept that waits.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while not self.closing.is_set():
            try:
                connected, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with connected:
                connected.settimeout(10)
                try:
                    self._play(Connection(self, connected))
                except OSError:
                    continue
