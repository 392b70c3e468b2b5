"""Requests to OpenSearch: signed for AWS, plain elsewhere; its errors -> failures.

botocore signs and sends, which the runtime has loaded anyway: see docs/decisions.
"""

from collections.abc import Mapping
from socket import IPPROTO_TCP, TCP_NODELAY
from typing import Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

import orjson
from boto3 import Session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session

from functions.core.failure import Failure, FailureError, FailureKind, MissingIndexError
from functions.core.names import is_service_host

TIMEOUT_SECONDS = 10
# Without it a body waits until the other side has acknowledged the headers: 40 ms a request.
SEND_AT_ONCE: list[Any] = [(IPPROTO_TCP, TCP_NODELAY, 1)]
FORBIDDEN = 403
NO_INDEX = "index_not_found_exception"
# A whole request refused: for its size, for missing rights, or for a missing index.
REFUSED_AS = {
    401: FailureKind.CONFIGURATION,
    FORBIDDEN: FailureKind.CONFIGURATION,
    404: FailureKind.CONFIGURATION,
    413: FailureKind.RESOURCE,
}
# Without it a search that some shards could not answer looks like one that found less.
WHOLE = {"allow_partial_search_results": "false"}
# Where an answer has its documents.
LISTED = {"_mget": "docs", "_bulk": "items"}


class OpenSearchError(Exception):
    """OpenSearch refused a request; `status`, `kind` and `reason` say why."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(f"OpenSearch answered {status} {kind}: {reason}")
        self.status = status
        self.kind = kind
        self.reason = reason


class IndexCalls(Protocol):
    """Who sends requests to OpenSearch."""

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request and return the answer's JSON."""


class OpenSearchHttp:
    """One endpoint, one connection pool."""

    def __init__(self, endpoint: str, *, credentials: Credentials | None, region: str) -> None:
        self._endpoint = endpoint.rstrip("/")
        # A signature carries a token of the function's role: no other host may get one, and the
        # names of load balancers, machines and APIs in AWS are given to anyone.
        is_domain = is_service_host(urlsplit(endpoint).hostname or "")
        self._signer = SigV4Auth(credentials, "es", region) if is_domain and credentials else None
        self._session = URLLib3Session(timeout=TIMEOUT_SECONDS, socket_options=SEND_AT_ONCE)

    @classmethod
    def of(cls, session: Session, endpoint: str) -> "OpenSearchHttp":
        """Sign with the credentials and for the region of a session."""
        credentials = session.get_credentials()
        return cls(endpoint, credentials=credentials, region=session.region_name)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request and return the answer's JSON; bytes go as they are."""
        is_bulk = isinstance(body, bytes)
        data = body if is_bulk or body is None else orjson.dumps(body)
        kind = "application/x-ndjson" if is_bulk else "application/json"
        url = f"{self._endpoint}/{path}" + (f"?{urlencode(query)}" if query else "")
        return self._send(AWSRequest(method, url, headers={"Content-Type": kind}, data=data))

    def _send(self, request: AWSRequest) -> Any:
        try:
            if self._signer is not None:
                self._signer.add_auth(request)
            answer = self._session.send(request.prepare())
            content = answer.content
        except BotoCoreError as error:
            # Not HTTPClientError: a refused connection and a connect timeout are none.
            raise unavailable(f"no answer ({type(error).__name__})") from error
        if answer.status_code == 429:
            raise FailureError(Failure(FailureKind.INDEX_BUSY, "OpenSearch answered 429"))
        if answer.status_code >= 500:
            raise unavailable(f"it answered {answer.status_code}")
        try:
            parsed = orjson.loads(content)
        except orjson.JSONDecodeError:
            raise unavailable(f"it answered {answer.status_code} with no JSON") from None
        if answer.status_code >= 300:
            raise _error_of(answer.status_code, parsed)
        return parsed


def unavailable(detail: str) -> FailureError:
    return FailureError(Failure(FailureKind.INDEX_UNAVAILABLE, f"OpenSearch: {detail}"))


def refusal(error: OpenSearchError) -> FailureError:
    """Make the failure of a whole request: no document is the cause."""
    kind = REFUSED_AS.get(error.status, FailureKind.INDEX_UNAVAILABLE)
    # The reason of a refused body may quote the document: only its type is kept.
    reason = f"OpenSearch answered 400 {error.kind}" if error.status == 400 else str(error)
    # Any other 404 is that of a path or a proxy: the index may well be there.
    raised = MissingIndexError if error.kind == NO_INDEX else FailureError
    return raised(Failure(kind, reason))


def listed(answer: Any, action: str, number: int) -> list[Any]:
    """Return the documents of an answer; what answers for fewer is a proxy, or breaks down."""
    found = answer.get(LISTED[action]) if isinstance(answer, dict) else None
    if not isinstance(found, list) or len(found) < number:
        raise unavailable(f"its answer to {action} is not complete")
    return found


def refused(error: OpenSearchError) -> dict[str, Any]:
    """Tell a command that OpenSearch refused its request; ops/index_questions reads it."""
    return {"refused": {"status": error.status, "kind": error.kind, "reason": error.reason}}


def failed(error: FailureError) -> dict[str, Any]:
    """Tell a command that its request has no answer."""
    return {"failed": {"kind": error.failure.kind, "message": error.failure.message}}


def segment(name: str) -> str:
    """Quote a name for use in a path."""
    return quote(name, safe="")


def _error_of(status: int, answer: Any) -> OpenSearchError:
    body = answer if isinstance(answer, dict) else {}
    error = body.get("error")
    if isinstance(error, dict):
        return OpenSearchError(status, str(error.get("type")), str(error.get("reason")))
    # What stands before OpenSearch on AWS has a form of its own: {"Message": "User: ..."}.
    reason = error or body.get("Message") or body.get("message") or "no reason given"
    return OpenSearchError(status, "error", str(reason)[:200])
