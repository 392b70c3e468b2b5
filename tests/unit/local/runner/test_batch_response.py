"""Every answer a function may give to a batch, and what Lambda takes it for."""

import json
from typing import Any

import pytest

from local.runner.invocation import Invocation, failed_items, throttled, timed_out

ALL, NONE = {"a", "b", "c"}, set[str]()


def answer(*identifiers: Any) -> dict[str, Any]:
    """Return a partial batch response."""
    return {"batchItemFailures": [{"itemIdentifier": name} for name in identifiers]}


@pytest.mark.parametrize(
    ("returned", "failed"),
    [
        pytest.param(answer(), NONE, id="empty list"),
        pytest.param({"batchItemFailures": None}, NONE, id="null list"),
        pytest.param({}, NONE, id="empty object"),
        pytest.param(None, NONE, id="null"),
        pytest.param({"statusCode": 200}, NONE, id="no list"),
        pytest.param(answer("b"), {"b"}, id="one"),
        pytest.param(answer("b", "b"), {"b"}, id="one twice"),
        pytest.param(answer("a", "b", "c"), ALL, id="all"),
        pytest.param(answer(""), ALL, id="empty id"),
        pytest.param(answer(None), ALL, id="null id"),
        pytest.param(answer(7), ALL, id="number as id"),
        pytest.param(answer("b", "x"), ALL, id="unknown id"),
        pytest.param({"batchItemFailures": [{"id": "b"}]}, ALL, id="wrong key"),
        pytest.param({"batchItemFailures": ["b"]}, ALL, id="ids without object"),
        pytest.param({"batchItemFailures": "b"}, ALL, id="text for a list"),
        pytest.param({"batchItemFailures": {}}, ALL, id="object for a list"),
        pytest.param("ok", ALL, id="text"),
        pytest.param([], ALL, id="list"),
        pytest.param(0, ALL, id="number"),
    ],
)
def test_an_answer_with_partial_responses_on(returned: Any, failed: set[str]) -> None:
    """R82: what is missing is success, what is wrong fails the whole batch."""
    invocation = Invocation("id", json.dumps(returned).encode())

    assert failed_items(invocation, ["a", "b", "c"], reports_failures=True) == failed


@pytest.mark.parametrize(
    ("invocation", "failed"),
    [
        pytest.param(Invocation("id", b"{not json"), ALL, id="no JSON"),
        pytest.param(Invocation("id", b"\xff\xfe"), ALL, id="no text"),
        pytest.param(Invocation("id", b""), NONE, id="nothing"),
        pytest.param(Invocation("id", b"{}", {"errorType": "E"}), ALL, id="function error"),
        pytest.param(timed_out("id", 3), ALL, id="timeout"),
        pytest.param(throttled("id"), ALL, id="throttle"),
    ],
)
def test_an_answer_that_is_none(invocation: Invocation, failed: set[str]) -> None:
    """R82: errors, and answers that cannot be read, fail the whole batch."""
    assert failed_items(invocation, ["a", "b", "c"], reports_failures=True) == failed


def test_without_partial_responses_an_answer_is_not_read() -> None:
    """R82: the setting is the mapping's; the function's answer alone changes nothing."""
    invocation = Invocation("id", json.dumps(answer("b")).encode())

    assert failed_items(invocation, ["a", "b", "c"], reports_failures=False) == NONE
