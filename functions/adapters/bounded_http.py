"""HTTP to a provider that may misbehave: one deadline for the whole answer, and a largest size.

The timeouts of the HTTP library are per read: a byte a second would hold a run for hours.
"""

import ssl
import time
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

# How much of a compressed answer is expanded at once.
PART_BYTES = 1_000_000
# What is sent in one piece, so that the deadline is looked at in between.
WRITE_BYTES = 65_536
# Zlib recognises a gzip header by itself with this added to the largest window.
GZIP_WINDOW = 32 + zlib.MAX_WBITS
SEND_AGAIN = (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError)


class TooLargeAnswerError(httpx2.RequestError):
    """The answer has more bytes than all that was asked for can have."""


@dataclass
class Bounds:
    """The limits of the request under way, and what is known about its connection."""

    deadline: float = inf  # of time.monotonic
    max_bytes: int = 0
    has_connected: bool = False
    has_received: bool = False

    def left(self, error: Callable[[str], Exception]) -> float:
        """Return the seconds that are left; raise if there are none."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise error("the deadline of the whole answer has passed")
        return left


class BoundedTransport(httpx2.HTTPTransport):
    """Sends one request at a time, within the bounds that are set before."""

    def __init__(self, url: str) -> None:
        """`url` decides whether a proxy of the environment is used."""
        super().__init__()
        self._bounds = Bounds()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpx2.create_ssl_context(),
            proxy=_proxy(httpx2.URL(url)),
            keepalive_expiry=60.0,
            network_backend=_Network(self._bounds),
        )
        # The kept connection is closed with its last user, as the SDK's own client does.
        weakref.finalize(self, self._pool.close)

    def bound(self, *, seconds: float, max_bytes: int) -> None:
        """Set the limits of what is sent from now on."""
        self._bounds.deadline = time.monotonic() + seconds
        self._bounds.max_bytes = max_bytes

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; its answer is expanded and measured as it is read."""
        request.headers["accept-encoding"] = "gzip"
        self._bounds.has_connected = self._bounds.has_received = False
        try:
            answer = self._answer(request)
        except SEND_AGAIN:
            # A kept connection that the server has closed, and has not seen the request, or that
            # holds the rest of another answer: this one's own would follow it.
            if self._bounds.has_connected or self._bounds.has_received:
                raise
            answer = self._answer(request)
        encoding = answer.headers.pop("content-encoding", "").strip().lower()
        answer.headers.pop("content-length", None)
        # Kept, cookies of ever new names would make each request longer, until all are refused.
        answer.headers.pop("set-cookie", None)
        # JSON is UTF-8 whatever a header says, and the SDK would trust that.
        media_type, _, _ = answer.headers.get("content-type", "").partition(";")
        answer.headers["content-type"] = media_type
        return httpx2.Response(
            answer.status_code,
            headers=answer.headers,
            stream=_Body(
                answer.stream, encoding, self._bounds.max_bytes, is_error=not answer.is_success
            ),
            extensions=answer.extensions,
        )

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        answer = super().handle_request(request)
        if not self._bounds.has_received:
            # The rest of what came for the last request: its vectors are those of other texts.
            answer.close()
            raise httpx2.RemoteProtocolError("the answer was there before its request")
        return answer


class _Body(httpx2.SyncByteStream):
    def __init__(self, stream: Any, encoding: str, max_bytes: int, *, is_error: bool) -> None:
        self._stream = stream
        self._encoding = encoding
        self._max_bytes = max_bytes
        self._is_error = is_error

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._bounded()
        except (TooLargeAnswerError, httpx2.DecodingError):
            # The status and the headers of an error say enough.
            if not self._is_error:
                raise

    def _bounded(self) -> Iterator[bytes]:
        size = 0
        for part in _plain(self._stream, self._encoding):
            size += len(part)
            if size > self._max_bytes:
                raise TooLargeAnswerError(f"the answer has more than {self._max_bytes} bytes")
            yield part

    def close(self) -> None:
        self._stream.close()


def _plain(stream: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    if encoding in ("", "identity"):
        yield from stream
    elif encoding in ("gzip", "x-gzip"):
        yield from _expanded(stream)
    else:
        raise httpx2.DecodingError("an encoding that was not asked for")


def _expanded(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Expand part by part: a small gzip can hold gigabytes."""
    expand = zlib.decompressobj(GZIP_WINDOW)
    try:
        for chunk in stream:
            rest = chunk
            # A gzip may have several members, and zeros after each, which mean nothing.
            while rest := rest.lstrip(b"\0") if expand.eof else rest:
                if expand.eof:
                    expand = zlib.decompressobj(GZIP_WINDOW)
                yield expand.decompress(rest, PART_BYTES)
                rest = expand.unconsumed_tail or expand.unused_data
        yield expand.flush()
    except zlib.error as error:
        raise httpx2.DecodingError("not gzip") from error


def _proxy(url: httpx2.URL) -> httpcore2.Proxy | None:
    """Return the proxy of the environment; the HTTP library asks for none with a transport."""
    address = getproxies().get(url.scheme)
    if address is None or proxy_bypass(url.host):
        return None
    given = httpx2.Proxy(address)
    return httpcore2.Proxy(str(given.url), auth=given.raw_auth)


class _Network(httpcore2.SyncBackend):
    """Connections whose every step ends at the deadline."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        self._bounds.has_connected = True
        left = self._bounds.left(httpcore2.ConnectTimeout)
        return _Stream(
            super().connect_tcp(host, port, left, local_address, socket_options), self._bounds
        )


class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream, bounds: Bounds) -> None:
        self._stream = stream
        self._bounds = bounds

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        data = self._stream.read(max_bytes, self._bounds.left(httpcore2.ReadTimeout))
        self._bounds.has_received |= bool(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        for start in range(0, len(buffer), WRITE_BYTES):
            left = self._bounds.left(httpcore2.WriteTimeout)
            self._stream.write(buffer[start : start + WRITE_BYTES], left)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        left = self._bounds.left(httpcore2.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._bounds)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
