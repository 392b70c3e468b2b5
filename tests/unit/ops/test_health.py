"""Health: each part with its state, its time and what to do."""

import time
from dataclasses import replace

import pytest
from botocore.exceptions import ClientError

from ops.deployment import Deployment
from ops.health import Check, Finding, Health, Question, State, check, questions
from ops.output import as_text

DENIED = ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "HeadBucket")


def refused() -> Finding:
    raise DENIED


def test_part_that_answers_needs_nothing() -> None:
    """R40: no remedy."""
    found = check(Question("ledger", lambda: Finding("is ACTIVE"), "look at it"))

    assert (found.state, found.detail, found.remedy) == ("well", "is ACTIVE", None)
    assert found.milliseconds >= 0


def test_error_of_a_part_is_its_state() -> None:
    """R40: with what to do; the other parts are asked as well."""
    found = check(Question("stash", refused, "deploy the stack again"))

    assert (found.state, found.remedy) == ("failed", "deploy the stack again")
    assert "AccessDenied" in found.detail


@pytest.mark.parametrize(("state", "code"), [("well", 0), ("warning", 0), ("failed", 1)])
def test_exit_code_tells_a_failed_part(state: State, code: int) -> None:
    """R40: a warning is none; the remedy stands below the table."""
    remedy = None if state == "well" else "do this"
    answer = Health(
        checks=(
            Check(part="ledger", state="well", milliseconds=1, detail="ok"),
            Check(part="index", state=state, milliseconds=2, detail="x", remedy=remedy),
        )
    )

    assert answer.exit_code == code
    assert ("index: do this" in as_text(answer)) is (state != "well")


def test_throttling_provider_is_a_warning_of_the_lanes(deployment: Deployment) -> None:
    """R40: the probe itself takes a 429 for an answer."""
    now_ms = time.time_ns() // 1_000_000
    deployment.control.cool("default", until_ms=now_ms + 60_000, after=0)
    outputs = deployment.outputs | {"StashBucket": "stash"}
    asked = questions(replace(deployment, outputs=outputs))
    lanes = next(one for one in asked if one.part == "lanes of default")

    found = check(lanes)

    assert found.state == "warning"
    assert "throttles: no request before " in found.detail
