"""How CloudWatch judges an alarm: M out of N periods, and what a missing one counts for. Pure.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
"""

import operator
from collections.abc import Callable, Sequence
from enum import StrEnum

# CloudWatch looks further back than it evaluates, so that a late value is not taken for a missing
# one. How far, it does not say; its own examples have two more of three.
LOOKED_BACK = 2

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}


class State(StrEnum):
    OK = "OK"
    ALARM = "ALARM"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"


class Missing(StrEnum):
    """What a period without a value counts for."""

    BREACHING = "breaching"
    NOT_BREACHING = "notBreaching"
    IGNORE = "ignore"
    MISSING = "missing"


def judge(
    is_bad: Sequence[bool | None], *, periods: int, bad_periods: int, missing: Missing, now: State
) -> State:
    """Return the state after looking at periods, the oldest first; None is a missing one.

    `now` is the state until now. As few missing periods as possible are counted: with enough known
    ones, the latest of these decide.
    """
    known = [one for one in is_bad if one is not None][-periods:]
    lacking = periods - len(known)
    if lacking and missing is Missing.BREACHING:
        known += [True] * lacking
    elif lacking and missing is Missing.NOT_BREACHING:
        known += [False] * lacking
    elif lacking and all(known):
        return _undecided(is_bad[-periods:], bad_periods, missing, now)
    return State.ALARM if sum(known) >= bad_periods else State.OK


def _undecided(
    is_bad: Sequence[bool | None], bad_periods: int, missing: Missing, now: State
) -> State:
    """Judge periods that are bad or missing, where a missing one counts for neither."""
    if missing is Missing.IGNORE:
        return now
    if not any(is_bad):
        return State.INSUFFICIENT_DATA
    # The oldest bad one is old enough that a good one would have come by now.
    has_lasted = any(is_bad[: len(is_bad) - bad_periods + 1])
    return State.ALARM if has_lasted else now
