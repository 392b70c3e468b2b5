"""Breakers from the command line: with a reason, and told by the function that follows them."""

from dataclasses import replace

import pytest

from functions.adapters.dynamodb_control import DynamoDbControl
from functions.core.control import Breaker, Circuit
from functions.core.failure import Part
from ops.breakers import breakers, pause, resume
from ops.cli import main
from ops.deployment import Deployment, UsageError
from tests.builders import NOW_MS

OPEN = Breaker(Circuit.OPEN, "the provider answered 401", NOW_MS, probes=2, due_ms=NOW_MS + 60_000)


@pytest.fixture
def control(deployment: Deployment) -> DynamoDbControl:
    return DynamoDbControl(deployment.client("dynamodb"), deployment.outputs["LedgerTable"])


def test_untroubled_target_is_told_so(deployment: Deployment) -> None:
    """R25 R40: before anything has happened, too."""
    assert breakers(deployment) == [
        "target default",
        "  provider  closed",
        "  index     closed",
        "  cooldown  none",
    ]


def test_trouble_is_told_with_its_reason(deployment: Deployment, control: DynamoDbControl) -> None:
    """R25 R40: state, since when, why, the counts, and what comes next."""
    control.swap("default", Part.PROVIDER, Breaker(), OPEN)
    control.count("default", Part.INDEX, window_ms=NOW_MS, successes=9, failures=1)
    control.cool("default", until_ms=NOW_MS + 5000, after=0)

    assert breakers(deployment) == [
        "target default",
        "  provider  open since 2023-11-14 22:13:20 UTC: the provider answered 401;"
        " 2 probes failed, the next one at 2023-11-14 22:14:20 UTC",
        "  index     closed (1 of 10 requests failed in the window of 2023-11-14 22:13:20 UTC)",
        "  cooldown  throttled 1 times in a row: nobody asks before 2023-11-14 22:13:25 UTC",
    ]


@pytest.mark.parametrize("part", Part)
def test_pause_stops_one_part_until_somebody_resumes_it(
    deployment: Deployment, control: DynamoDbControl, part: Part
) -> None:
    """R25: with its reason, which the breaker function has yet to log."""
    [line] = pause(deployment, target=None, part=str(part), reason="moving house")

    standing = control.read("default").breaker(part)
    assert (standing.state, standing.reason, standing.is_logged) == (
        Circuit.PAUSED,
        "moving house",
        False,
    )
    assert line.startswith(f"the {part} of target default is paused (moving house)")


def test_pause_outranks_an_open_breaker(deployment: Deployment, control: DynamoDbControl) -> None:
    """R25: no probe ends it."""
    control.swap("default", Part.PROVIDER, Breaker(), OPEN)

    pause(deployment, target="default", part="provider", reason="moving house")

    assert control.read("default").provider.state is Circuit.PAUSED


@pytest.mark.parametrize("state", [Circuit.PAUSED, Circuit.OPEN])
def test_resumed_lanes_come_back_step_by_step(
    deployment: Deployment, control: DynamoDbControl, state: Circuit
) -> None:
    """R25: from a pause, or from an outage whose cause somebody has mended."""
    control.swap("default", Part.PROVIDER, Breaker(), replace(OPEN, state=state))

    resume(deployment, target=None, part="provider", reason="key replaced")

    standing = control.read("default").provider
    assert (standing.state, standing.reason, standing.lanes) == (
        Circuit.REOPENING,
        "key replaced",
        1,
    )
    assert (standing.probes, standing.is_logged) == (0, False)


def test_target_at_work_cannot_be_resumed(deployment: Deployment) -> None:
    """R40: it says so."""
    with pytest.raises(UsageError, match="nothing to resume: the index's breaker is closed"):
        resume(deployment, target=None, part="index", reason="why not")


@pytest.mark.parametrize("change", [pause, resume])
def test_reason_is_not_blank(deployment: Deployment, change: object) -> None:
    """R25: a pause without a reason helps nobody."""
    with pytest.raises(UsageError, match="say why"):
        change(deployment, target=None, part="provider", reason="  ")  # type: ignore[operator]


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_command_without_a_reason_is_refused(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """R25 R40: the command line asks for it."""
    with pytest.raises(SystemExit):
        main([command])

    assert "--reason" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["pause", "resume", "breakers"])
def test_help_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """R40: COMMAND --help tells how it is called."""
    with pytest.raises(SystemExit):
        main([command, "--help"])

    assert f"examples:\n  embedq {command}" in capsys.readouterr().out
