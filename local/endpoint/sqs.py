"""SQS on ElasticMQ: queues' URLs lead back to this endpoint, and move tasks are done here."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from local.endpoint.messages import Answer, Request
from local.endpoint.move_tasks import MoveTasks
from local.endpoint.protocols import AwsError, parameters, result
from local.endpoint.routing import SQS
from local.endpoint.upstream import Upstream

_WITH_URLS = frozenset(("CreateQueue", "GetQueueUrl", "ListDeadLetterSourceQueues", "ListQueues"))


class Sqs:
    """Sends calls to the engine, or does them itself where the engine does them wrong."""

    def __init__(self, engine_url: str, tasks: MoveTasks) -> None:
        """Know the engine's address, which stands in its answers."""
        self._engine_url = engine_url.rstrip("/").encode()
        self._tasks = tasks

    def answer(self, request: Request, engine: Upstream) -> Answer:
        """Answer a call."""
        action = request.action
        if action.endswith(("MessageMoveTask", "MessageMoveTasks")):
            return result(request, SQS, self._move_task(action, parameters(request)))
        answer = engine.forward(request)
        if action not in _WITH_URLS:
            return answer
        here = f"http://{request.headers['host']}".encode()
        return replace(answer, body=answer.body.replace(self._engine_url, here))

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
