"""M out of N, and missing data: the tables of CloudWatch's own page."""

import pytest

from local.watch.rules import Missing, State, judge

OK, ALARM, INSUFFICIENT = State.OK, State.ALARM, State.INSUFFICIENT_DATA
RETAIN = None
ORDER = (Missing.MISSING, Missing.IGNORE, Missing.BREACHING, Missing.NOT_BREACHING)

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html:
# 0 is within the threshold, X is not, - is missing; the latest comes last.
THREE_OF_THREE = {
    "0-X-X": (OK, OK, OK, OK),
    "----0": (OK, OK, OK, OK),
    "-----": (INSUFFICIENT, RETAIN, ALARM, OK),
    "0XX-X": (ALARM, ALARM, ALARM, ALARM),
    "--X--": (ALARM, RETAIN, ALARM, OK),
    # A first bad one is no reason yet: the next may be good.
    "----X": (RETAIN, RETAIN, ALARM, OK),
}
TWO_OF_THREE = {
    "0-X-X": (ALARM, ALARM, ALARM, ALARM),
    "00X0X": (ALARM, ALARM, ALARM, ALARM),
    "0-X--": (OK, OK, ALARM, OK),
    "----0": (OK, OK, ALARM, OK),
    "---X-": (ALARM, RETAIN, ALARM, OK),
}
CASES = [
    (bad_periods, points, missing, state)
    for bad_periods, table in ((3, THREE_OF_THREE), (2, TWO_OF_THREE))
    for points, states in table.items()
    for missing, state in zip(ORDER, states, strict=True)
]


@pytest.mark.parametrize("now", list(State))
@pytest.mark.parametrize(("bad_periods", "points", "missing", "state"), CASES)
def test_tables_of_cloudwatch(
    bad_periods: int, points: str, missing: Missing, state: State | None, now: State
) -> None:
    """R61: what a missing period counts for; None in the tables keeps the state."""
    is_bad = [{"0": False, "X": True, "-": None}[point] for point in points]

    judged = judge(is_bad, periods=3, bad_periods=bad_periods, missing=missing, now=now)

    assert judged is (state or now)
