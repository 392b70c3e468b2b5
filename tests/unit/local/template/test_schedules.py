"""Rules on a schedule, read from a template."""

from typing import Any

import pytest

from local.specs import ScheduleSpec
from local.template import Site, TemplateError, read_stack

TARGET = {"Arn": {"Fn::GetAtt": ["Sweep", "Arn"]}, "Id": "Target0", "Input": '{"job":"due"}'}


def template_with(**properties: Any) -> dict[str, Any]:
    """Return a function and a rule that fires it each minute, with some properties changed."""
    rule = {"ScheduleExpression": "rate(1 minute)", "State": "ENABLED", "Targets": [TARGET]}
    return {
        "Resources": {
            "Sweep": {
                "Type": "AWS::Lambda::Function",
                "Properties": {"Handler": "functions.sweep.handler.lambda_handler"},
            },
            "SweepDue": {"Type": "AWS::Events::Rule", "Properties": {**rule, **properties}},
            "SweepDueAllowed": {
                "Type": "AWS::Lambda::Permission",
                "Properties": {"SourceArn": {"Fn::GetAtt": ["SweepDue", "Arn"]}},
            },
        }
    }


def test_a_rule_runs_its_function_with_its_input(site: Site) -> None:
    """R29 R82: the sweep runs here as often as on AWS; the grant means nothing here."""
    stack = read_stack(template_with(), site)

    assert stack.schedules == [
        ScheduleSpec(
            rule="embedq-local-sweep-due",
            function="embedq-local-sweep",
            every_seconds=60,
            payload='{"job":"due"}',
            enabled=True,
        )
    ]
    assert stack.ignored == {"AWS::Lambda::Permission": 1}


def test_a_rule_has_the_state_and_the_name_of_the_template(site: Site) -> None:
    """R82: a disabled rule is read as such."""
    (schedule,) = read_stack(template_with(State="DISABLED", Name="mine"), site).schedules

    assert (schedule.rule, schedule.enabled) == ("mine", False)


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [
        ("rate(15 minutes)", 900),
        ("rate(1 hour)", 3600),
        ("rate(12 hours)", 43_200),
        ("rate(1 day)", 86_400),
        ("rate(2 days)", 172_800),
    ],
)
def test_a_rate_is_read_in_its_unit(expression: str, seconds: int, site: Site) -> None:
    """R82: minutes, hours and days."""
    (schedule,) = read_stack(template_with(ScheduleExpression=expression), site).schedules

    assert schedule.every_seconds == seconds


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ScheduleExpression": "cron(0 3 * * ? *)"}, r"sweep-due runs at cron\(0 3"),
        ({"ScheduleExpression": "rate(0 minutes)"}, r"runs at rate\(0 minutes\)"),
        ({"ScheduleExpression": "rate(1 minutes)"}, "runs at rate"),
        ({"ScheduleExpression": "rate(5 minute)"}, "runs at rate"),
        ({"ScheduleExpression": None}, "has no ScheduleExpression"),
        ({"Targets": [{"Arn": "arn:aws:sqs:us-east-1:0:queue"}]}, "only a function"),
        ({"Targets": [{"Arn": TARGET["Arn"]}]}, "no Input"),
    ],
    ids=["cron", "zero", "plural", "singular", "pattern", "queue", "no-input"],
)
def test_a_rule_that_local_mode_cannot_run_is_refused(
    changed: dict[str, Any], said: str, site: Site
) -> None:
    """R82: what cannot be run here is said, with the rule's name."""
    with pytest.raises(TemplateError, match=said):
        read_stack(template_with(**changed), site)
