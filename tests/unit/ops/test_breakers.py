"""Breakers from the command line: changed with a reason, and logged by the breaker function."""

from dataclasses import replace

import pytest

from functions.adapters.dynamodb_control import DynamoDbControl
from functions.core.breaker import Breaker, Circuit
from functions.core.failure import Part
from ops.breakers import breakers, pause, resume
from ops.cli import main
from ops.deployment import Deployment
from ops.output import UsageError, as_text
from tests.builders import NOW_MS

OPEN = Breaker(Circuit.OPEN, "the provider answered 401", NOW_MS, probes=2, due_ms=NOW_MS + 60_000)


@pytest.fixture
def control(deployment: Deployment) -> DynamoDbControl:
    return deployment.control


def lines(deployment: Deployment) -> list[str]:
    """Return what a person sees, one space between the columns."""
    return [" ".join(line.split()) for line in as_text(breakers(deployment)).splitlines()]


def test_target_at_work_has_closed_breakers(deployment: Deployment) -> None:
    """R25 R40: before anything has happened, too."""
    assert lines(deployment) == [
        "target part state since reason note",
        "default provider closed",
        "default index closed",
        "default cooldown none",
    ]


def test_stopped_target_is_shown_with_its_reason(
    deployment: Deployment, control: DynamoDbControl
) -> None:
    """R25 R40: state, since when, why, the counts, and what comes next."""
    control.swap("default", Part.PROVIDER, Breaker(), OPEN)
    control.count("default", Part.INDEX, window_ms=NOW_MS, successes=9, failures=1)
    control.cool("default", until_ms=NOW_MS + 5000, after=0)

    assert lines(deployment)[1:] == [
        "default provider open 2023-11-14 22:13:20 UTC the provider answered 401"
        " 2 probes failed, the next one at 2023-11-14 22:14:20 UTC",
        "default index closed 1 of 10 requests failed in the window of 2023-11-14 22:13:20 UTC",
        "default cooldown throttled 1 times in a row: no request before 2023-11-14 22:13:25 UTC",
    ]


@pytest.mark.parametrize("part", Part)
def test_pause_stops_one_part_until_it_is_resumed(
    deployment: Deployment, control: DynamoDbControl, part: Part
) -> None:
    """R25: with its reason, which the breaker function has yet to log."""
    answer = pause(deployment, part=str(part), reason="moving house").act()

    standing = control.read("default").breaker(part)
    assert (standing.state, standing.reason, standing.is_logged) == (
        Circuit.PAUSED,
        "moving house",
        False,
    )
    assert as_text(answer).startswith(f"the {part} of target default is paused (moving house)")


def test_pause_outranks_an_open_breaker(deployment: Deployment, control: DynamoDbControl) -> None:
    """R25: no probe ends it."""
    control.swap("default", Part.PROVIDER, Breaker(), OPEN)

    pause(deployment, target="default", part="provider", reason="moving house").act()

    assert control.read("default").provider.state is Circuit.PAUSED


@pytest.mark.parametrize("state", [Circuit.PAUSED, Circuit.OPEN])
def test_resumed_lanes_come_back_step_by_step(
    deployment: Deployment, control: DynamoDbControl, state: Circuit
) -> None:
    """R25: from a pause, or from an outage whose cause was removed."""
    control.swap("default", Part.PROVIDER, Breaker(), replace(OPEN, state=state))

    answer = resume(deployment, reason="key replaced").act()

    standing = control.read("default").provider
    assert (standing.state, standing.reason, standing.lanes) == (
        Circuit.REOPENING,
        "key replaced",
        1,
    )
    assert (standing.probes, standing.is_logged) == (0, False)
    assert as_text(answer).startswith("the provider of target default is reopening (key replaced)")


def test_target_at_work_cannot_be_resumed(deployment: Deployment) -> None:
    """R40: it says so."""
    with pytest.raises(UsageError, match="nothing to resume: the index's breaker is closed"):
        resume(deployment, part="index", reason="why not")


@pytest.mark.parametrize("change", ["pause", "resume"])
def test_reason_is_not_blank(change: str, capsys: pytest.CaptureFixture[str]) -> None:
    """R25: the reason is shown to the next operator."""
    assert main([change, "--reason", "  "]) == 2

    assert "say why" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_command_without_a_reason_is_refused(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """R25 R40: the command line asks for it."""
    assert main([command]) == 2

    assert "--reason" in capsys.readouterr().err
