"""boto3 within bounds: one deadline for the whole answer, and a largest size.

botocore's timeouts belong to a client and count each read. Here it writes, signs and parses, and
the request itself goes through the bounded transport.
"""

import threading
import weakref
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

import httpx2
from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HeadersDict

from functions.adapters.bounded_http import BoundedTransport

if TYPE_CHECKING:
    from botocore.client import BaseClient


class BoundedCalls:
    """Sends the calls of a client, each thread one at a time, with a connection of its own."""

    def __init__(self, client: "BaseClient") -> None:
        self._url = client.meta.endpoint_url
        self._mine = threading.local()
        # What a handler of this event returns is taken for the answer; the stubs do not know it.
        # The client does not hold its sender: its connections close with their last user.
        handler: Any = partial(_send, weakref.ref(self))
        client.meta.events.register("before-send", handler)

    def bound(self, *, seconds: float, max_bytes: int) -> None:
        """Set the limits of what this thread calls from now on."""
        self._transport.bound(seconds=seconds, max_bytes=max_bytes)

    @property
    def _transport(self) -> BoundedTransport:
        if not hasattr(self._mine, "transport"):
            self._mine.transport = BoundedTransport(self._url)
        transport: BoundedTransport = self._mine.transport
        return transport

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """Send a request, and read its answer within the bounds."""
        body: Any = request.body
        sent = httpx2.Request(
            request.method, request.url, headers=_pairs(request.headers), content=body
        )
        answer = self._transport.handle_request(sent)
        try:
            read = answer.read()
        finally:
            answer.close()
        headers: Any = HeadersDict(dict(answer.headers))
        return AWSResponse(request.url, answer.status_code, headers, _Read(read))


def _send(
    calls: "weakref.ref[BoundedCalls]", request: AWSPreparedRequest, **_: Any
) -> AWSResponse | None:
    sender = calls()
    return None if sender is None else sender.send(request)


class _Read(BytesIO):
    """A body that has been read, as botocore takes it."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        """Yield all of it."""
        yield self.read()


def _pairs(headers: Any) -> list[tuple[str, str]]:
    return [
        (name, value.decode() if isinstance(value, bytes) else value)
        for name, value in headers.items()
    ]
