"""The check of one run: what it lets through counts as waiting only where the job asks for it."""

import pytest

from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import Group, Status
from functions.core.ports import Listed
from functions.sweep.gate import Gate
from functions.sweep.holds import Hold, Situation
from tests.builders import NOW_MS
from tests.unit.sweep.world import World


def listed(name: str) -> Listed:
    key = RowKey(f"default/articles/{name}")
    return Listed(key, Status.PENDING, Lane.NORMAL, NOW_MS, Group.PARKED)


def one_at_most(situation: Situation, row: Listed) -> Hold | None:
    """Hold a row back behind another one, and each that is called bad."""
    is_bad = row.row_key.endswith("bad")
    return Hold.BACKLOG if situation.waiting["normal"] or is_bad else None


@pytest.mark.parametrize(("is_bounded", "passing"), [(True, ["a"]), (False, ["a", "b"])])
def test_only_a_bounded_job_counts_what_it_lets_through(
    world: World, is_bounded: bool, passing: list[str]
) -> None:
    """R19 R29: a row that is held back is not in its lane."""
    gate = Gate(
        world.control, world.queues, world.telemetry, world.clock, [("default", "articles")], {}
    )
    bounded = gate.check(one_at_most, {}, is_bounded=True)
    passes = bounded if is_bounded else gate.check(one_at_most, {})

    assert [name for name in ("bad", "a", "b") if passes(listed(name))] == passing
