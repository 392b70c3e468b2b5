"""Lambda's API behind the breaker, on a real HTTP server: mappings and probes."""

import json
from typing import Any

import pytest

from functions.adapters.lambda_mappings import LambdaMappings, LambdaProber
from functions.core.failure import FailureError, FailureKind, Part
from local.aws_client import local_client
from tests.unit.adapters.scripted_server import Answer, ScriptedServer

MAPPING = "a1b2c3d4-5678-90ab-cdef-11111example"
BOTH = [Part.PROVIDER, Part.INDEX]


def client(server: ScriptedServer, seconds: float = 5) -> Any:
    return local_client(
        "lambda", server.url, read_timeout=seconds, retries={"total_max_attempts": 1}
    )


def error(status: int, code: str) -> Answer:
    return Answer(status, b"{}", {"x-amzn-errortype": code})


def told(value: object, **headers: str) -> Answer:
    return Answer(200, json.dumps(value).encode(), headers)


def test_state_of_a_mapping_is_told(scripted: ScriptedServer) -> None:
    """R25: as AWS calls it."""
    scripted.answers = [told({"UUID": MAPPING, "State": "Disabling"})]

    assert LambdaMappings(client(scripted)).state(MAPPING) == "Disabling"
    assert scripted.asked[0].path == f"/2015-03-31/event-source-mappings/{MAPPING}"


@pytest.mark.parametrize("enabled", [True, False])
def test_mapping_is_switched(scripted: ScriptedServer, enabled: bool) -> None:
    """R25: nothing of it is touched but that."""
    scripted.answers = [told({"UUID": MAPPING, "State": "Updating"})]

    assert LambdaMappings(client(scripted)).switch(MAPPING, enabled=enabled)
    assert (scripted.asked[0].method, json.loads(scripted.asked[0].body)) == (
        "PUT",
        {"Enabled": enabled},
    )


@pytest.mark.parametrize("code", ["ResourceInUseException", "ResourceConflictException"])
def test_busy_mapping_waits_for_the_next_minute(scripted: ScriptedServer, code: str) -> None:
    """R25: it is no failure."""
    scripted.answers = [error(409, code)]

    assert not LambdaMappings(client(scripted)).switch(MAPPING, enabled=True)


def test_mapping_out_of_reach_is_a_failure_with_its_name(scripted: ScriptedServer) -> None:
    """R25: an operator can look it up."""
    scripted.answers = [error(404, "ResourceNotFoundException")]
    mappings = LambdaMappings(client(scripted))

    for call in (lambda: mappings.state(MAPPING), lambda: mappings.switch(MAPPING, enabled=True)):
        with pytest.raises(FailureError, match=f"{MAPPING}: ResourceNotFoundException") as caught:
            call()
        assert caught.value.failure.kind is FailureKind.STORE_UNAVAILABLE


def test_probe_brings_each_parts_answer(scripted: ScriptedServer) -> None:
    """R25: asked of embed itself, past the queues."""
    scripted.answers = [told({"provider": None, "index": "index_unavailable: away"})]

    answers = LambdaProber(client(scripted)).probe("embed-one", BOTH)

    assert answers == {Part.PROVIDER: None, Part.INDEX: "index_unavailable: away"}
    assert scripted.asked[0].path == "/2015-03-31/functions/embed-one/invocations"
    assert json.loads(scripted.asked[0].body) == {"probe": ["provider", "index"]}


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        pytest.param(
            error(404, "ResourceNotFoundException"),
            "the probe was not taken: ResourceNotFoundException",
            id="no-function",
        ),
        pytest.param(
            told(
                {"errorType": "ImportModuleError", "errorMessage": "secret"},
                **{"X-Amz-Function-Error": "Unhandled"},
            ),
            "the probe ended in an error: ImportModuleError",
            id="crashed",
        ),
        pytest.param(
            told("killed", **{"X-Amz-Function-Error": "Unhandled"}),
            "the probe ended in an error: Unhandled",
            id="killed",
        ),
        pytest.param(
            told({"batchItemFailures": []}), "the probe's answer cannot be read", id="old"
        ),
        pytest.param(told(None), "the probe's answer cannot be read", id="nothing"),
        pytest.param(Answer(200, b"<html>"), "the probe got no answer: JSONDecodeError", id="html"),
        pytest.param(Answer(silent=True), "the probe got no answer: ReadTimeoutError", id="silent"),
    ],
)
def test_probe_that_went_wrong_has_failed(
    scripted: ScriptedServer, answer: Answer, failure: str
) -> None:
    """R25: a function that cannot run cannot embed either."""
    scripted.answers = [answer]

    answers = LambdaProber(client(scripted, seconds=0.3)).probe("embed-one", BOTH)

    assert answers == {Part.PROVIDER: failure, Part.INDEX: failure}


def test_probe_that_found_no_worker_says_nothing(scripted: ScriptedServer) -> None:
    """R25: all of them wait for this very breaker."""
    scripted.answers = [error(429, "TooManyRequestsException")]

    assert LambdaProber(client(scripted)).probe("embed-one", BOTH) is None
