"""Functions run through the Lambda API."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.endpoint import AwsEndpoint
from local.processes import wait_for
from local.runner.runner import Runner
from tests.unit.local.runner.conftest import sample_function, sample_place

LIMIT_SECONDS = 20.0
ARN = "arn:aws:lambda:us-east-1:000000000000:function:sample"


@pytest.fixture
def lambda_(endpoint: AwsEndpoint, client: Callable[[str], Any], tmp_path: Path) -> Iterator[Any]:
    """Return Lambda with the sample function, and one that no event can enter."""
    sample = sample_function(tmp_path)
    full = replace(sample, name="full", reserved_concurrency=0)
    runner = Runner(sample_place(tmp_path), [sample, full])
    endpoint.serve_functions(runner)
    yield client("lambda")
    runner.stop(grace_seconds=0)


@pytest.mark.parametrize("name", ["sample", "000000000000:function:sample", ARN, f"{ARN}:$LATEST"])
def test_a_function_answers_by_name_and_arn(lambda_: Any, name: str) -> None:
    """R82: any form of its name that Lambda takes."""
    answer = lambda_.invoke(FunctionName=name, Payload=json.dumps({"n": 1}).encode())

    assert json.loads(answer["Payload"].read())["order"] == {"n": 1}
    assert (answer["StatusCode"], answer["ExecutedVersion"]) == (200, "$LATEST")
    assert "FunctionError" not in answer


def test_an_event_may_be_left_out(lambda_: Any) -> None:
    """R82: the function gets an empty object."""
    answer = lambda_.invoke(FunctionName="sample")

    assert json.loads(answer["Payload"].read())["order"] == {}


def test_an_error_of_the_function_is_told_beside_its_payload(lambda_: Any) -> None:
    """R82: the call itself went well."""
    answer = lambda_.invoke(FunctionName="sample", Payload=b'{"do":"fail"}')

    assert (answer["StatusCode"], answer["FunctionError"]) == (200, "Unhandled")
    error = json.loads(answer["Payload"].read())
    assert (error["errorType"], error["errorMessage"]) == ("ValueError", "told to fail")


def test_an_event_that_nobody_waits_for_is_run(lambda_: Any, tmp_path: Path) -> None:
    """R82: the answer comes at once and is empty."""
    answer = lambda_.invoke(
        FunctionName="sample", InvocationType="Event", Payload=b'{"do":"say","text":"heard"}'
    )

    assert (answer["StatusCode"], answer["Payload"].read()) == (202, b"")
    log = tmp_path / "logs" / "sample.log"
    assert wait_for(lambda: log.exists() and "heard" in log.read_text(), LIMIT_SECONDS)


def test_a_dry_run_runs_nothing(lambda_: Any) -> None:
    """R82: it only checks whether the call would be allowed."""
    answer = lambda_.invoke(FunctionName="sample", InvocationType="DryRun")

    assert answer["StatusCode"] == 204


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        ({"FunctionName": "full"}, "TooManyRequestsException", 429),
        ({"FunctionName": "unknown"}, "ResourceNotFoundException", 404),
        (
            {"FunctionName": "sample", "Payload": b"not JSON"},
            "InvalidRequestContentException",
            400,
        ),
        (
            {"FunctionName": "sample", "InvocationType": "Event", "Payload": b"1" * 1_100_000},
            "RequestTooLargeException",
            413,
        ),
        (
            {"FunctionName": "sample", "InvocationType": "Sometime"},
            "InvalidParameterValueException",
            400,
        ),
    ],
    ids=["throttled", "unknown", "not-json", "too-large", "type"],
)
def test_a_call_that_lambda_refuses_is_refused(
    lambda_: Any, arguments: dict[str, Any], code: str, status: int
) -> None:
    """R82: in the shape in which SDKs look for errors."""
    with pytest.raises(ClientError) as raised:
        lambda_.invoke(**arguments)

    answer = raised.value.response
    assert answer["Error"]["Code"] == code
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == status


def test_without_functions_there_is_none(client: Callable[[str], Any]) -> None:
    """R82: before the stack is there."""
    with pytest.raises(ClientError, match="Function not found: sample"):
        client("lambda").invoke(FunctionName="sample")
