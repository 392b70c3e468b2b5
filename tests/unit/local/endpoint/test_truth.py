"""What the stack has is listed as AWS lists it: functions, resources, log lines and rules."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.endpoint import AwsEndpoint
from local.runner.invocation import Invocation
from local.specs import FunctionSpec, ResourceSpec, ScheduleSpec, StackSpec

Clients = Callable[[str], Any]
EMBED = FunctionSpec(
    name="embed",
    logical_id="Embed1",
    folder="embed",
    handler="functions.embed.handler.lambda_handler",
    environment={"A": "1"},
    timeout_seconds=90,
    memory_mb=512,
    reserved_concurrency=8,
    log_group="embed-logs",
)
RESOURCE = ResourceSpec("Embed1", "AWS::Lambda::Function", "embed")
SWEEP = ScheduleSpec("sweep-tick", "embed", 900, '{"job":"due"}', enabled=True)
LINES = [
    '{"message": "task_started", "timestamp": "2026-11-17 02:05:43,329+0000", "document_id": "a"}',
    "Traceback",
    '{"message": "task_failed", "timestamp": "2026-11-17 02:05:44,000+0000", "document_id": "a b"}',
]
FIRST_MS = 1794881143329


class Functions:
    """Takes events, and runs nothing."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, Any]] = []

    def has(self, function: str) -> bool:
        return function == "embed"

    def invoke(self, function: str, payload: bytes) -> Invocation:
        raise NotImplementedError

    def invoke_later(self, function: str, payload: bytes) -> None:
        self.taken.append((function, json.loads(payload)))


@pytest.fixture
def stack(endpoint: AwsEndpoint, tmp_path: Path) -> Functions:
    """Serve a stack of one function, with a log and a rule; return what runs it."""
    spec = StackSpec("embedq-local", [], [], [], [], [EMBED], [], [], [SWEEP], resources=[RESOURCE])
    functions = Functions()
    (tmp_path / "embed.log").write_text("\n".join(LINES) + "\n")
    endpoint.serve_functions(functions)
    endpoint.serve_stack(spec)
    endpoint.serve_logs(tmp_path, spec)
    return functions


@pytest.mark.usefixtures("stack")
def test_functions_are_listed_and_described(client: Clients) -> None:
    """R82: `aws lambda list-functions`, and one by its name or ARN."""
    api = client("lambda")

    [listed] = api.list_functions()["Functions"]

    assert (listed["FunctionName"], listed["Timeout"]) == ("embed", 90)
    assert listed["LoggingConfig"]["LogGroup"] == "embed-logs"
    for name in ("embed", listed["FunctionArn"]):
        assert api.get_function_configuration(FunctionName=name)["Handler"] == EMBED.handler
    found = api.get_function(FunctionName="embed")
    assert found["Concurrency"] == {"ReservedConcurrentExecutions": 8}
    with pytest.raises(api.exceptions.ResourceNotFoundException):
        api.get_function(FunctionName="nope")


@pytest.mark.usefixtures("stack")
def test_resources_of_the_stack_are_listed(client: Clients) -> None:
    """R82: those that are here, each with its id in the template and its name."""
    api = client("cloudformation")

    [listed] = api.list_stack_resources(StackName="embedq-local")["StackResourceSummaries"]
    [described] = api.describe_stack_resources(StackName="embedq-local")["StackResources"]

    for found in (listed, described):
        names = ("LogicalResourceId", "ResourceType", "PhysicalResourceId", "ResourceStatus")
        values = [found[name] for name in names]
        assert values == ["Embed1", "AWS::Lambda::Function", "embed", "CREATE_COMPLETE"]
    assert [one["StackName"] for one in api.list_stacks()["StackSummaries"]] == ["embedq-local"]
    with pytest.raises(ClientError, match="Stack with id nope does not exist"):
        api.list_stack_resources(StackName="nope")
    with pytest.raises(ClientError, match="`embedq up` makes the stack"):
        api.delete_stack(StackName="embedq-local")


@pytest.mark.usefixtures("stack")
def test_lines_of_a_function_are_in_its_log_group(client: Clients) -> None:
    """R63 R82: by time, by words, and page by page."""
    api = client("logs")
    [group] = api.describe_log_groups()["logGroups"]
    assert group["logGroupName"] == "embed-logs"
    [stream] = api.describe_log_streams(logGroupName="embed-logs")["logStreams"]
    assert stream["firstEventTimestamp"] == FIRST_MS

    def found(**asked: Any) -> list[str]:
        events = api.filter_log_events(logGroupName="embed-logs", **asked)["events"]
        return [event["message"] for event in events]

    assert found() == LINES
    assert found(startTime=FIRST_MS + 1) == LINES[2:]
    assert found(endTime=FIRST_MS + 1) == LINES[:2]
    assert found(filterPattern="task_failed document_id") == LINES[2:]
    assert found(filterPattern='"a b"') == LINES[2:]
    pages = api.get_paginator("filter_log_events").paginate(
        logGroupName="embed-logs", PaginationConfig={"PageSize": 2}
    )
    assert [[e["message"] for e in page["events"]] for page in pages] == [LINES[:2], LINES[2:]]
    events = api.get_log_events(logGroupName="embed-logs", logStreamName=stream["logStreamName"])
    assert [event["message"] for event in events["events"]] == LINES


@pytest.mark.usefixtures("stack")
def test_what_logs_cannot_do_here_is_refused(client: Clients) -> None:
    """R82: an unknown group, a pattern with fields, and calls that change something."""
    api = client("logs")

    with pytest.raises(
        api.exceptions.ResourceNotFoundException, match="nope; there are embed-logs"
    ):
        api.filter_log_events(logGroupName="nope")
    with pytest.raises(ClientError, match="name words that a line holds"):
        api.filter_log_events(logGroupName="embed-logs", filterPattern="{ $.a = 1 }")
    with pytest.raises(ClientError, match="see `embedq logs`"):
        api.create_log_group(logGroupName="mine")


def test_rules_of_the_stack_are_listed_and_only_the_template_changes_them(
    client: Clients, stack: Functions
) -> None:
    """R82: with their schedule and their target."""
    api = client("events")

    [rule] = api.list_rules(NamePrefix="sweep")["Rules"]
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(15 minutes)", "ENABLED")
    [target] = api.list_targets_by_rule(Rule="sweep-tick")["Targets"]
    assert target["Arn"].endswith(":function:embed")
    with pytest.raises(ClientError, match="only the template changes it"):
        api.disable_rule(Name="sweep-tick")
    with pytest.raises(ClientError, match="only those of the stack are run"):
        api.put_rule(Name="mine", ScheduleExpression="rate(1 minute)")
    assert stack.taken == []


def test_rule_delivers_what_matches_to_a_function(client: Clients, stack: Functions) -> None:
    """R44 R82: by its pattern, and with a part of the event where one is asked for."""
    api = client("events")
    pattern = json.dumps({"source": ["embedq"], "detail": {"status": ["failed"]}})
    api.put_rule(Name="failed-documents", EventPattern=pattern)
    arn = "arn:aws:lambda:us-east-1:000000000000:function:embed"
    api.put_targets(
        Rule="failed-documents",
        Targets=[{"Id": "1", "Arn": arn}, {"Id": "2", "Arn": arn, "InputPath": "$.detail.status"}],
    )
    topic = "arn:aws:sns:us-east-1:000000000000:t"
    with pytest.raises(ClientError, match="delivers to a queue or a function"):
        api.put_targets(Rule="failed-documents", Targets=[{"Id": "3", "Arn": topic}])

    for status in ("completed", "failed"):
        entry = {"Source": "embedq", "DetailType": "d", "Detail": json.dumps({"status": status})}
        api.put_events(Entries=[entry])
    api.remove_targets(Rule="failed-documents", Ids=["1", "2"])
    api.delete_rule(Name="failed-documents")

    [(_, event), (_, part)] = stack.taken
    assert (event["detail"], part) == ({"status": "failed"}, "failed")
