"""DynamoDB Local and ElasticMQ behind the endpoint, with what must be rewritten on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import urllib3
from starlette.responses import Response

from local.endpoint.messages import OF_THE_CONNECTION, Request
from local.endpoint.move_tasks import MoveTasks
from local.endpoint.protocols import AwsError, parameters, result

# Longer than the longest poll of a queue, 20 s.
TIMEOUT_SECONDS = 60
# The server in front sets its own; the checksum is of the body before it is rewritten.
_DROPPED = OF_THE_CONNECTION | {"date", "server", "x-amz-crc32"}
# Calls that describe tables and streams; no document is in their answers. A shard iterator
# holds an ARN too, and must come back as it was given.
_DESCRIBING = frozenset(
    ("CreateTable", "DeleteTable", "DescribeStream", "DescribeTable", "ListStreams", "UpdateTable")
)
_TAKING_STREAMS = frozenset(("DescribeStream", "GetShardIterator", "ListStreams"))
_WITH_URLS = frozenset(("CreateQueue", "GetQueueUrl", "ListDeadLetterSourceQueues", "ListQueues"))


@dataclass(frozen=True)
class EngineUrls:
    """Where the engines behind the endpoint answer."""

    dynamodb: str  # and its streams
    sqs: str


class Engine:
    """Sends requests on; connections are kept and shared."""

    def __init__(self, url: str, *, connections: int = 1) -> None:
        self._pool = urllib3.connection_from_url(url, maxsize=connections, timeout=TIMEOUT_SECONDS)

    def forward(self, request: Request, *, old: bytes = b"", new: bytes = b"") -> Response:
        """Return the engine's answer, with the old bytes replaced."""
        try:
            try:
                found = self._exchange(request)
            except urllib3.exceptions.ProtocolError:
                # The engine had closed the idle connection.
                found = self._exchange(request)
        except urllib3.exceptions.HTTPError as error:
            # SDKs try again after this one.
            message = f"the engine does not answer: {error}"
            raise AwsError("ServiceUnavailable", message, status=503) from error
        kept = {
            name: value for name, value in found.headers.items() if name.lower() not in _DROPPED
        }
        return Response(found.data.replace(old, new) if old else found.data, found.status, kept)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _exchange(self, request: Request) -> urllib3.BaseHTTPResponse:
        return self._pool.urlopen(
            request.method,
            request.target,
            body=request.body,
            headers=request.headers,
            retries=False,
            assert_same_host=False,
            decode_content=False,
        )


class DynamoDb:
    """DynamoDB and its streams, with ARNs of our region.

    The engine writes the region ddblocal into every ARN, and knows its streams by these only.
    """

    _ENGINE_ARN = b"arn:aws:dynamodb:ddblocal:"

    def __init__(self, engine: Engine, *, region: str) -> None:
        self._engine = engine
        self._our_arn = f"arn:aws:dynamodb:{region}:".encode()

    def answer(self, request: Request) -> Response:
        """Answer a call."""
        if request.action in _TAKING_STREAMS:
            body = request.body.replace(self._our_arn, self._ENGINE_ARN)
            request = replace(request, body=body)
        if request.action not in _DESCRIBING:
            return self._engine.forward(request)
        return self._engine.forward(request, old=self._ENGINE_ARN, new=self._our_arn)


class Sqs:
    """SQS with URLs of queues that lead back here; move tasks are done here, as no engine can."""

    def __init__(self, engine: Engine, engine_url: str, tasks: MoveTasks) -> None:
        self._engine = engine
        self._engine_url = engine_url.rstrip("/").encode()
        self._tasks = tasks

    def answer(self, request: Request) -> Response:
        """Answer a call."""
        action = request.action
        if action.endswith(("MessageMoveTask", "MessageMoveTasks")):
            return result(request, self._move_task(action, parameters(request)))
        if action not in _WITH_URLS:
            return self._engine.forward(request)
        here = f"http://{request.headers['host']}".encode()
        return self._engine.forward(request, old=self._engine_url, new=here)

    def _move_task(self, action: str, given: Mapping[str, Any]) -> dict[str, Any]:
        match action:
            case "StartMessageMoveTask":
                handle = self._tasks.start(
                    source_arn=_required(given, "SourceArn"),
                    destination_arn=given.get("DestinationArn") or None,
                    per_second=_number(given, "MaxNumberOfMessagesPerSecond"),
                )
                return {"TaskHandle": handle}
            case "ListMessageMoveTasks":
                limit = _number(given, "MaxResults")
                tasks = self._tasks.newest(
                    _required(given, "SourceArn"), limit=1 if limit is None else limit
                )
                return {"Results": tasks}
            case _:
                moved = self._tasks.cancel(_required(given, "TaskHandle"))
                return {"ApproximateNumberOfMessagesMoved": moved}


def _required(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not value:
        raise AwsError("MissingParameter", f"The request must contain the parameter {name}.")
    return str(value)


def _number(given: Mapping[str, Any], name: str) -> int | None:
    value = given.get(name)
    try:
        return None if value is None else int(value)
    except ValueError as error:
        message = f"Value {value} for parameter {name} is invalid. Reason: Must be a number."
        raise AwsError("InvalidParameterValue", message) from error
