"""A TCP proxy in front of the index that can refuse, reset or silence connections."""

import contextlib
import socket
import struct
import threading
from urllib.parse import urlsplit

from benchmarks.storm.weather import Outage
from local.http_server import LOOPBACK

CHUNK_BYTES = 1 << 16
BACKLOG = 128
# Linger of zero seconds: the other side gets a reset instead of an orderly end.
RESET = struct.pack("ii", 1, 0)


class IndexProxy:
    """Passes every byte on, or none during an outage."""

    def __init__(self) -> None:
        """Bind a port of the loopback address; `address_for` sets the server behind it."""
        self._lock = threading.Lock()
        self._upstream = (LOOPBACK, 0)
        self._open: set[socket.socket] = set()
        self._outage: Outage | None = None
        self._is_back = threading.Event()
        self._is_back.set()
        self._is_closed = False
        self._listener = _listen(0)
        self._port: int = self._listener.getsockname()[1]
        self._start_accepting(self._listener)

    def address_for(self, endpoint: str) -> str:
        """Pass everything on to this endpoint; return the address to use instead of it."""
        parts = urlsplit(endpoint)
        self._upstream = (str(parts.hostname), int(parts.port or 80))
        return f"http://{LOOPBACK}:{self._port}"

    def go_away(self, how: Outage) -> None:
        """Start an outage: cut or hold open connections, accept no new ones."""
        with self._lock:
            self._outage = how
            self._is_back.clear()
            if how is Outage.REFUSED:
                _close(self._listener)
            if how is not Outage.SILENT:
                self._cut()

    def come_back(self) -> None:
        """End the outage."""
        with self._lock:
            was, self._outage = self._outage, None
            if was is Outage.REFUSED:
                self._listener = _listen(self._port)
                self._start_accepting(self._listener)
            if was is Outage.SILENT:
                # Requests that waited through the outage lose their answers.
                self._cut()
            self._is_back.set()

    def close(self) -> None:
        """Close all connections and the port."""
        with self._lock:
            self._is_closed = True
            _close(self._listener)
            self._cut()
            self._is_back.set()

    def _start_accepting(self, listener: socket.socket) -> None:
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if self._outage is Outage.CUT:
                _reset(client)
            else:
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with self._lock:
            self._open.add(client)
        self._is_back.wait()
        try:
            server = socket.create_connection(self._upstream)
        except OSError:
            self._end(client)
            return
        with self._lock:
            self._open.add(server)
        back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
        back.start()
        self._pump(client, server)
        back.join()
        self._end(client)
        self._end(server)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK_BYTES):
                self._is_back.wait()
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _cut(self) -> None:
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                connection.shutdown(socket.SHUT_RDWR)

    def _end(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.close()


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((LOOPBACK, port))
    listener.listen(BACKLOG)
    return listener


def _close(listener: socket.socket) -> None:
    # Only a shutdown ends the accept() of the listening thread.
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.close()
