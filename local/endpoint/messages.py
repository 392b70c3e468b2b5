"""A request to AWS as a value, and the table of services by which its own one is found."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl, unquote, urlsplit

# These belong to one connection, not to the message; the length is set again where it is sent:
# https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1
OF_THE_CONNECTION = frozenset(
    {"connection", "expect", "keep-alive", "proxy-connection"}
    | {"te", "trailer", "transfer-encoding", "upgrade", "content-length"}
)


@dataclass(frozen=True)
class Service:
    """A service that is not left to moto, and the marks of its requests."""

    name: str  # as in a signature
    targets: tuple[str, ...] = ()  # of the JSON protocol
    version: str = ""  # of the query protocol
    path: str | None = None  # of a REST API
    namespace: str = ""  # of XML answers


DYNAMODB = Service("dynamodb", targets=("DynamoDB_20120810", "DynamoDBStreams_20120810"))
EVENTS = Service("events", targets=("AWSEvents",))
LAMBDA = Service("lambda", path="/2015-03-31/")
SQS = Service(
    "sqs",
    targets=("AmazonSQS",),
    version="2012-11-05",
    namespace="http://queue.amazonaws.com/doc/2012-11-05/",
)
CLOUDFORMATION = Service(
    "cloudformation",
    version="2010-05-15",
    namespace="http://cloudformation.amazonaws.com/doc/2010-05-15/",
)
LOGS = Service("logs", targets=("Logs_20140328",))
MONITORING = Service(
    "monitoring",
    targets=("GraniteServiceVersion20100801",),
    version="2010-08-01",
    namespace="http://monitoring.amazonaws.com/doc/2010-08-01/",
)
SERVICES = (DYNAMODB, EVENTS, LAMBDA, SQS, CLOUDFORMATION, LOGS, MONITORING)
# <key>/<date>/<region>/<service>/aws4_request
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
_SCOPE = re.compile(r"[^/\s]+/\d{8}/[^/]+/([^/]+)/aws4_request")


@dataclass(frozen=True)
class Request:
    """What a client asked; the names of headers are in lower case."""

    method: str
    target: str  # path and query as they came
    headers: Mapping[str, str]
    body: bytes = b""

    @cached_property
    def path(self) -> str:
        """Return the path alone, decoded."""
        return unquote(urlsplit(self.target).path)

    @cached_property
    def query(self) -> dict[str, str]:
        """Return the parameters of the URL."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @cached_property
    def form(self) -> dict[str, str]:
        """Return the parameters of a call in the query protocol, from URL and body."""
        kind = self.headers.get("content-type", "")
        if not kind.startswith("application/x-www-form-urlencoded"):
            return self.query
        return self.query | dict(parse_qsl(self.body.decode(), keep_blank_values=True))

    @property
    def is_json(self) -> bool:
        """Return True for the JSON protocol, False for the query protocol and REST."""
        return "x-amz-target" in self.headers

    @property
    def action(self) -> str:
        """Return the operation, where the protocol names one; else nothing."""
        target = self.headers.get("x-amz-target")
        return target.rpartition(".")[2] if target else self.form.get("Action", "")

    @cached_property
    def service(self) -> Service:
        """Return the service by target, signature, path or API version; its name may be empty."""
        target = self.headers.get("x-amz-target", "").partition(".")[0]
        credential = self.headers.get("authorization") or self.query.get("X-Amz-Credential", "")
        scope = _SCOPE.search(credential)
        version = self.form.get("Version", "")
        for service in SERVICES:
            if target in service.targets:
                return service
        if scope is not None:
            signed = [service for service in SERVICES if service.name == scope[1]]
            return signed[0] if signed else Service(scope[1])
        for service in SERVICES:
            if service.path is not None and self.path.startswith(service.path):
                return service
            if version and version == service.version:
                return service
        return Service("")
