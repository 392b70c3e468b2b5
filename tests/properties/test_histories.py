"""Random histories on the in-memory engines: the index ends equal to the table, always."""

import pytest

from benchmarks.histories.removed_rules import REMOVED_RULES, seeds_to_find
from benchmarks.histories.run import play, play_seeds, shrink_seed
from benchmarks.histories.shrink import shrink
from benchmarks.histories.world import plan

SEEDS = 200  # of one test; the tests run side by side
QUICKLY_FOUND = [5, 7, 8, 11, 12, 13, 15]  # of REMOVED_RULES


@pytest.mark.parametrize("first", range(0, 5 * SEEDS, SEEDS))
def test_index_equals_table_after_any_history(first: int) -> None:
    """R04 R05 R07 R31 R35 R36 R85: writes, duplicates, late deliveries, crashes, clocks that
    differ, operators and sweeps in any order lose nothing and announce what is true."""
    result = play_seeds(range(first, first + SEEDS))

    assert result.failed == {}
    assert result.faults["kill"] > SEEDS
    assert result.faults["copied task"] > SEEDS


@pytest.mark.parametrize("number", QUICKLY_FOUND, ids=lambda number: REMOVED_RULES[number].name)
def test_removed_rule_is_found(number: int) -> None:
    """R85: the histories are able to fail."""
    assert seeds_to_find(number, times=1, limit=300) is not None


def test_failing_history_is_played_again_and_made_shorter() -> None:
    """R85: a failure is shown by few steps."""
    with REMOVED_RULES[QUICKLY_FOUND[0]].remove():
        result = play_seeds(range(300), first_failure_ends=True)
        [seed] = result.failed
        shorter = shrink_seed(seed)

        assert play(plan(seed))[1] == result.failed[seed]
        assert play(shorter)[1]
    assert len(shorter.steps) < len(plan(seed).steps)


def test_shrinking_keeps_what_is_needed() -> None:
    assert shrink(range(100), lambda steps: {17, 71} <= set(steps)) == [17, 71]
