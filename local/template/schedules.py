"""AWS::Events::Rule on a schedule -> what the runner fires. Other rules have no place here.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html
"""

import re
from collections.abc import Mapping
from typing import Any

from local.specs import ScheduleSpec
from local.template.intrinsics import TemplateError

_RATE = re.compile(r"rate\(([1-9][0-9]*) (minute|hour|day)(s?)\)")
_SECONDS = {"minute": 60, "hour": 3600, "day": 86_400}
_FUNCTION = re.compile(r"arn:[^:]+:lambda:[^:]*:[^:]*:function:([^:]+)")


def schedule_specs(rule: str, properties: Mapping[str, Any]) -> list[ScheduleSpec]:
    """Read a rule: one schedule for each of its targets."""
    every_seconds = _seconds(rule, properties.get("ScheduleExpression"))
    enabled = properties.get("State", "ENABLED") == "ENABLED"
    return [
        ScheduleSpec(rule, _function(rule, target), every_seconds, _input(rule, target), enabled)
        for target in properties.get("Targets", ())
    ]


def _seconds(rule: str, expression: str | None) -> int:
    found = _RATE.fullmatch(expression or "")
    # EventBridge refuses rate(1 minutes) and rate(5 minute).
    if found is None or (found[1] == "1") == bool(found[3]):
        said = f"runs at {expression}" if expression else "has no ScheduleExpression"
        raise TemplateError(
            f"rule {rule} {said}: one-machine mode knows rate(1 minute), rate(5 minutes),"
            " hours and days"
        )
    return int(found[1]) * _SECONDS[found[2]]


def _function(rule: str, target: Mapping[str, Any]) -> str:
    found = _FUNCTION.fullmatch(target["Arn"])
    if found is None:
        raise TemplateError(f"rule {rule} fires {target['Arn']}: only a function can be fired here")
    return found[1]


def _input(rule: str, target: Mapping[str, Any]) -> str:
    if "Input" not in target:
        raise TemplateError(f"rule {rule} gives its target no Input: write one in the template")
    return str(target["Input"])
