"""A plan beside what was metered since it was made."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from infrastructure.config.target import TargetConfig
from ops.output import FAILED, OK
from ops.plan.answers import Plan
from ops.plan.metered import CHUNKS, RECEIVED, TOKENS, Load, compared, summed
from ops.plan.workload import Worked, Workload
from ops.planning import planned

MADE = datetime(2026, 11, 17, 5, 0, tzinfo=UTC)
METERED = Counter({RECEIVED: 100, TOKENS: 1100 * 300, CHUNKS: 1100})
LOAD = Load(documents=1000, seconds=60)


def make_plan(**limits: int) -> Plan:
    worked = Worked.of(TargetConfig(model="text-embedding-3-small"), dimensions=1536, **limits)
    plan = planned(worked, Workload(1000, 300, 1, 1200, 5), model="text-embedding-3-small")
    return plan.model_copy(update={"made": MADE})


def test_plan_that_came_true_is_near() -> None:
    """R50: live writes count as planned, however many there were; what is not metered is said."""
    found = compared(make_plan(), METERED, LOAD)

    assert found.exit_code == OK
    assert {one.figure: one.difference for one in found.figures} == {
        "documents of the load": 0,
        "tokens": 0,
        "chunks": 0,
        "USD of the provider": pytest.approx(0),
        "write units of the ledger": None,
    }


@pytest.mark.parametrize(("tokens", "code"), [(1.09, OK), (1.11, FAILED), (0.89, FAILED)])
def test_ten_percent_is_near_enough(tokens: float, code: int) -> None:
    """R50: more is a difference, by exit code."""
    metered = METERED | {TOKENS: round(tokens * METERED[TOKENS])}

    assert compared(make_plan(), Counter(metered), LOAD).exit_code == code


def test_time_is_compared_where_a_setting_decides_it() -> None:
    """R50: how fast functions and index are is an assumption; a limit of the provider is not."""
    bound = make_plan(tokens_per_minute=300_000)
    assert bound.seconds is not None
    free = compared(make_plan(), METERED, Load(1000, 10_000))
    late = compared(bound, METERED, Load(1000, 1.2 * bound.seconds))

    assert "seconds" not in {one.figure for one in free.figures}
    assert (free.exit_code, late.exit_code) == (OK, FAILED)


def test_units_are_compared_where_aws_meters_them() -> None:
    """R50: five for each document, loaded or live."""
    assert compared(make_plan(), METERED, LOAD, units=5 * 1100).exit_code == OK
    assert compared(make_plan(), METERED, LOAD, units=7 * 1100).exit_code == FAILED


def test_metrics_are_summed_from_the_lines_that_cloudwatch_reads() -> None:
    """R50: since the plan was made, each by the function that counts it."""

    def line(at: datetime, service: str, **metrics: object) -> str:
        stamp = {"Timestamp": round(at.timestamp() * 1000)}
        return json.dumps({"_aws": stamp, "service": service, **metrics})

    lines = [
        line(MADE - timedelta(seconds=1), "embed", TokensPaid=[1]),
        line(MADE, "embed", TokensPaid=[10, 20], ChunksPaid=[2]),
        line(MADE, "search", TokensPaid=[5]),
        line(MADE, "enqueue", RecordsReceived=200),
        '{"_aws": {"Timestamp": 17',  # of a run that was killed
    ]

    assert summed(iter(lines), MADE) == Counter({TOKENS: 30, CHUNKS: 2, RECEIVED: 200})
