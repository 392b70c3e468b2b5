"""A function runs in a real process of the runtime client, and every run comes to one end."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from local.processes import ProcessId, wait_for
from tests.unit.local.runner.conftest import NO_DYNAMODB, NO_SQS, NOWHERE, StartFunction, call

LIMIT_SECONDS = 20.0


def test_a_process_is_reused_warm(start_function: StartFunction) -> None:
    """R82: two runs, one process, each with its own answer."""
    runner = start_function()

    first, second = call(runner, {"n": 1}), call(runner, {"n": 2})

    assert first.result["pid"] == second.result["pid"] == runner.pids("sample")[0]
    assert (first.result["order"], second.result["order"]) == ({"n": 1}, {"n": 2})
    assert first.request_id != second.request_id


def test_the_context_is_lambdas(start_function: StartFunction) -> None:
    """R82: request id, ARN, deadline, name, memory and trace id are there."""
    invocation = call(start_function(timeout_seconds=7), {"do": "context"})

    context = invocation.result
    assert 5000 < context.pop("milliseconds") <= 7000
    assert context.pop("trace").startswith("Root=1-")
    assert context == {
        "arn": "arn:aws:lambda:us-east-1:000000000000:function:sample",
        "request_id": invocation.request_id,
        "name": "sample",
        "memory": "256",
    }


def test_the_environment_is_the_functions_and_lambdas(start_function: StartFunction) -> None:
    """R82: nothing of this machine's own environment or AWS settings reaches a function."""
    os.environ["OURS"] = "secret"
    try:
        environment = call(start_function(), {"do": "environment"}).result
    finally:
        del os.environ["OURS"]

    assert "OURS" not in environment
    assert "HOME" not in environment
    assert environment["OWN"] == "value"
    assert environment["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "256"
    addresses = {name: url for name, url in environment.items() if "ENDPOINT_URL" in name}
    assert addresses == {
        "AWS_ENDPOINT_URL": NOWHERE,
        "AWS_ENDPOINT_URL_DYNAMODB": NO_DYNAMODB,
        "AWS_ENDPOINT_URL_SQS": NO_SQS,
    }
    assert environment["LAMBDA_TASK_ROOT"].endswith("sample")


def test_a_package_that_the_zip_lacks_is_missing(start_function: StartFunction) -> None:
    """R82: the function sees its own package and the runtime client, not what is installed."""
    runner = start_function()

    found = {
        name: call(runner, {"do": "find", "module": name}).result
        for name in ("handler", "json", "awslambdaric", "boto3", "pytest", "local")
    }

    assert found == {
        "handler": True,
        "json": True,
        "awslambdaric": True,
        "boto3": False,
        "pytest": False,
        "local": False,
    }


def test_an_exception_is_the_answer(start_function: StartFunction) -> None:
    """R82: an error of the function ends that run alone; the process stays warm."""
    runner = start_function()
    pid = call(runner, {}).result["pid"]

    error = call(runner, {"do": "fail"}).error

    assert error is not None
    assert (error["errorType"], error["errorMessage"]) == ("ValueError", "told to fail")
    assert "handler.py" in error["stackTrace"][-1]
    assert call(runner, {}).result["pid"] == pid


def test_a_run_is_killed_at_its_timeout_with_all_it_started(
    start_function: StartFunction, tmp_path: Path
) -> None:
    """R82: the answer is Lambda's, the whole group is gone, and the next run gets a new process."""
    runner = start_function(timeout_seconds=1)
    pid = call(runner, {}).result["pid"]

    invocation = call(runner, {"do": "spawn"})

    assert invocation.error == {
        "errorType": "Sandbox.Timedout",
        "errorMessage": f"RequestId: {invocation.request_id} Error: "
        "Task timed out after 1.00 seconds",
    }
    child = json.loads((tmp_path / "notes").read_text())["child"]
    for number in (pid, child):
        process = ProcessId.of(number)
        assert wait_for(lambda p=process: not p.is_alive(), LIMIT_SECONDS)  # type: ignore[misc]
    assert call(runner, {}).result["pid"] != pid


def test_a_process_that_exits_ends_its_run_at_once(start_function: StartFunction) -> None:
    """R82: a crash is an error of that run, long before its timeout."""
    runner = start_function(timeout_seconds=600)

    invocation = call(runner, {"do": "die"})

    assert invocation.error is not None
    assert invocation.error["errorType"] == "Runtime.ExitError"
    assert invocation.error["errorMessage"].endswith("exited with error: exit status 3")
    assert call(runner, {}).error is None


def test_a_function_that_cannot_start_says_why(start_function: StartFunction) -> None:
    """R82: an error at import is the answer of the run."""
    error = call(start_function(code="broken"), {}).error

    assert error is not None
    assert (error["errorType"], error["errorMessage"]) == ("RuntimeError", "no settings")


def test_a_package_that_was_not_built_is_named(start_function: StartFunction) -> None:
    """R82: the message says what to do."""
    error = call(start_function(code="unbuilt"), {}).error

    assert error is not None
    assert "Build it first" in error["errorMessage"]


def test_an_answer_over_six_megabytes_is_refused(start_function: StartFunction) -> None:
    """R82: as Lambda refuses it; the function can go on with a new process or this one."""
    runner = start_function()

    error = call(runner, {"do": "size", "bytes": 7_000_000}).error

    assert error is not None
    assert error["errorType"] == "Function.ResponseSizeTooLarge"
    assert call(runner, {"do": "size", "bytes": 5_000_000}).error is None


def test_above_the_reserved_number_a_run_is_throttled(start_function: StartFunction) -> None:
    """R08: as many processes as runs at a time, and no more runs than reserved."""
    runner = start_function(reserved=2)
    call(runner, {})

    with ThreadPoolExecutor(3) as callers:
        runs = list(callers.map(lambda _: call(runner, SLEEP), range(3)))

    assert [run.is_throttled for run in runs].count(True) == 1
    assert len(runner.pids("sample")) == 2


def test_what_a_function_prints_is_in_its_log(
    start_function: StartFunction, tmp_path: Path
) -> None:
    """R40: its own lines as they are, and errors as one JSON object a line."""
    runner = start_function()
    said = json.dumps({"message": "task_failed"})

    call(runner, {"do": "say", "text": said})
    invocation = call(runner, {"do": "die"})

    lines = (tmp_path / "logs" / "sample.log").read_text().splitlines()
    assert said in lines
    assert json.loads(lines[-1])["function_request_id"] == invocation.request_id


SLEEP = {"do": "sleep", "seconds": 0.5}
