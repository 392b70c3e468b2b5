"""EventBridge's rules: those of the stack are told, those of clients deliver to queues and
functions of this machine."""

import json
import logging
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local.endpoint.messages import Request
from local.endpoint.protocols import AwsError, parameters

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from local.endpoint.lambda_api import Functions

# The name of the rule is under the one or the other.
_CHANGES = {
    "PutRule": "Name",
    "DeleteRule": "Name",
    "EnableRule": "Name",
    "DisableRule": "Name",
    "PutTargets": "Rule",
    "RemoveTargets": "Rule",
}
_KNOWN = {"Id", "Arn", "Input", "InputPath", "SqsParameters", "RetryPolicy", "DeadLetterConfig"}
logger = logging.getLogger(__name__)


def check_change(request: Request, of_the_stack: Collection[str]) -> None:
    """Refuse a change that would not do here what it does in AWS."""
    if request.action not in _CHANGES:
        return
    given = parameters(request)
    name = given.get(_CHANGES[request.action], "")
    if name in of_the_stack:
        raise AwsError(
            "NotRunHere", f"the rule {name} is the stack's: only the template changes it"
        )
    if request.action == "PutRule" and given.get("ScheduleExpression"):
        raise AwsError(
            "NotRunHere",
            f"the rule {name} has a schedule: on one machine only those of the stack are run",
        )
    for target in given.get("Targets", ()) if request.action == "PutTargets" else ():
        _check_target(target)


def _check_target(target: Mapping[str, Any]) -> None:
    if target.get("Arn", "").split(":")[2:3] not in (["sqs"], ["lambda"]):
        raise AwsError(
            "NotRunHere",
            f"target {target.get('Arn')}: on one machine a rule delivers to a queue or a function",
        )
    if others := sorted(set(target) - _KNOWN):
        raise AwsError("NotRunHere", f"{', '.join(others)} of a target is not run on one machine")


class Delivery:
    """Sends events to the targets of the rules that match them."""

    def __init__(self, rules: Callable[[str], list[Any]], sqs: "SQSClient") -> None:
        """`rules` returns those of a bus."""
        self._rules = rules
        self._sqs = sqs
        self.functions: Functions | None = None

    def deliver(self, event: Mapping[str, Any], bus: str) -> None:
        """Send an event to every target, once; a target that does not take it misses it."""
        for rule in self._rules(bus.rpartition("/")[2] or "default"):
            # A rule without a pattern has a schedule.
            is_on = rule.state == "ENABLED" and rule.event_pattern.get_pattern()
            if not is_on or not rule.event_pattern.matches_event(event):
                continue
            for target in rule.targets:
                try:
                    self._send(target, _payload(target, event))
                except (ClientError, BotoCoreError, KeyError) as error:
                    logger.warning(
                        "rule %s: %s missed an event: %s", rule.name, target["Arn"], error
                    )

    def _send(self, target: Mapping[str, Any], payload: str) -> None:
        _, _, service, *_, name = target["Arn"].split(":")
        if service == "lambda":
            if self.functions is not None:
                self.functions.invoke_later(name, payload.encode())
            return
        url = self._sqs.get_queue_url(QueueName=name)["QueueUrl"]
        group: Any = target.get("SqsParameters", {})
        self._sqs.send_message(QueueUrl=url, MessageBody=payload, **group)


def _payload(target: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    if "Input" in target:
        return str(target["Input"])
    found: Any = event
    for word in target.get("InputPath", "$").removeprefix("$").split("."):
        if word:
            found = found[word]
    return json.dumps(found)
