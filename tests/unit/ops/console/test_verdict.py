"""The first line: healthy or not, why, since when."""

from typing import Any

import pytest

from ops.console.verdict import Verdict, judge
from ops.health import Check, Health


def check(part: str, state: Any) -> Check:
    return Check(part=part, state=state, milliseconds=1, detail="", remedy=None)


@pytest.mark.parametrize(
    ("states", "state", "reasons"),
    [
        (["well", "well"], "well", []),
        (["well", "warning"], "warning", ["part 1"]),
        (["failed", "warning", "well"], "failed", ["part 0", "part 1"]),
    ],
)
def test_worst_part_decides(states: list[str], state: str, reasons: list[str]) -> None:
    """R49 R40: each part that is not well is a reason."""
    checks = tuple(check(f"part {number}", one) for number, one in enumerate(states))

    found = judge(Verdict(), Health(checks=checks), "", now=10)

    assert (found.state, found.since) == (state, 10)
    assert [one.part for one in found.reasons] == reasons


def test_time_is_that_of_the_first_sight() -> None:
    """R49: it moves when the state changes, and not with every sample."""
    well, bad = Health(checks=()), Health(checks=(check("index", "failed"),))

    first = judge(Verdict(), well, "", now=1)
    same = judge(first, well, "", now=2)
    worse = judge(same, bad, "", now=3)
    lost = judge(worse, None, "no route", now=4)

    assert [one.since for one in (first, same, worse, lost)] == [1, 1, 3, 4]
    assert (lost.state, lost.error) == ("unknown", "no route")
