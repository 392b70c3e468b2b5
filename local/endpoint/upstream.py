"""Requests on their way to an engine: one connection each, kept open as long as the client's."""

import contextlib
import http.client
from dataclasses import dataclass
from urllib.parse import urlsplit

from local.endpoint.messages import OF_THE_CONNECTION, Answer, Request
from local.endpoint.protocols import AwsError

# Longer than the longest poll of a queue, 20 s.
TIMEOUT_SECONDS = 60
# Of these an answer has one of ours.
_DROPPED = OF_THE_CONNECTION | {"content-length", "date", "server"}


@dataclass(frozen=True)
class EngineUrls:
    """Where the engines behind the endpoint answer."""

    dynamodb: str  # and its streams
    sqs: str


class Upstream:
    """The way of one client's requests to one engine."""

    def __init__(self, url: str) -> None:
        """Note where the engine is; the first request connects."""
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port, timeout=TIMEOUT_SECONDS
        )

    def forward(self, request: Request) -> Answer:
        """Send a request on and bring its answer back."""
        is_reused = self._connection.sock is not None
        try:
            return self._exchange(request)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            if not is_reused:
                raise _unavailable(error) from error
        # The engine closes connections that were idle: the next request then finds out.
        try:
            return self._exchange(request)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise _unavailable(error) from error

    def close(self) -> None:
        """Let go of the connection."""
        with contextlib.suppress(OSError):
            self._connection.close()

    def _exchange(self, request: Request) -> Answer:
        connection = self._connection
        connection.putrequest(
            request.method, request.target, skip_host=True, skip_accept_encoding=True
        )
        for name, value in request.headers.items():
            if name != "content-length":
                connection.putheader(name, value)
        connection.putheader("content-length", str(len(request.body)))
        connection.endheaders(request.body)
        found = connection.getresponse()
        body = found.read()
        headers = [
            (name, value) for name, value in found.getheaders() if name.lower() not in _DROPPED
        ]
        return Answer(found.status, headers, body)


def _unavailable(error: Exception) -> AwsError:
    # SDKs try again after this one.
    return AwsError("ServiceUnavailable", f"the engine does not answer: {error}", status=503)
