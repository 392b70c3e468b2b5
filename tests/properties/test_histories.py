"""Random histories on the in-memory engines: the index ends equal to the table, always."""

import re

import pytest

from benchmarks.histories.__main__ import main
from benchmarks.histories.plan import plan
from benchmarks.histories.removed_rules import REMOVED_RULES, seeds_to_find
from benchmarks.histories.run import play, play_seeds, shrink_seed
from benchmarks.histories.shrink import shrink

SEEDS = 200  # of one test; the tests run side by side
MOST_SEEDS = 400
# Mostly within ten seeds; all the others are for `make simulate ARGS="--rules 3"`.
QUICKLY_FOUND = [
    "rows are written under their revision",
    "a version is above the one before",
    "whoever sends again takes a new version",
    "a task's deduplication id has the version",
    "a change older than the last one is dropped",
    "unchanged holds for one index only",
    "an item is read as it is now",
    "of a batch the newest version is worked",
    "an older version is not worked",
    "a version that ended is not worked",
    "copies of a task become one",
    "a run closes rows of its own version only",
    "a request is counted before it is sent",
]


@pytest.mark.parametrize("first", range(0, 3 * SEEDS, SEEDS))
def test_index_equals_table_after_any_history(first: int) -> None:
    """R04 R05 R07 R19 R31 R35 R36 R43 R85: writes, duplicates, late deliveries, crashes, clocks
    that differ, operators, backfills and sweeps in any order lose nothing and announce what is
    true."""
    result = play_seeds(range(first, first + SEEDS))

    assert result.failed == {}
    assert result.faults["kill"] > SEEDS
    assert result.faults["copied task"] > SEEDS
    assert result.faults["backfill"] > SEEDS / 2
    assert result.faults["over budget"] > SEEDS / 40


@pytest.mark.parametrize("rule", QUICKLY_FOUND)
def test_removed_rule_is_found(rule: str) -> None:
    """R85: the histories are able to fail."""
    assert seeds_to_find(rule, times=1, limit=MOST_SEEDS) is not None


def test_rules_of_the_list_are_known_by_their_names() -> None:
    names = [rule.name for rule in REMOVED_RULES]

    assert len(set(names)) == len(names)
    assert set(QUICKLY_FOUND) < set(names)


def test_command_says_what_was_played(capsys: pytest.CaptureFixture[str]) -> None:
    """R85: seeds, steps and their speed, faults by kind, and what failed."""
    assert main(["--first", "7", "--seeds", "3"]) == 0

    said = capsys.readouterr().out
    assert "seeds       7 to 9\n" in said
    assert re.search(r"^steps +[\d,]+ in \d+ s, [\d,]+ a second$", said, re.MULTILINE)
    assert re.search(r"^fault +lost index: 3$", said, re.MULTILINE)
    assert "0 of 3 histories failed\n" in said


def test_failing_history_is_played_again_and_made_shorter() -> None:
    """R85: a failure is shown by few steps."""
    [rule] = [rule for rule in REMOVED_RULES if rule.name == QUICKLY_FOUND[0]]
    with rule.remove():
        result = play_seeds(range(MOST_SEEDS), first_failure_ends=True)
        [seed] = result.failed
        shorter = shrink_seed(seed)

        assert play(plan(seed))[1] == result.failed[seed]
        assert play(shorter)[1]
    assert len(shorter.steps) < len(plan(seed).steps)


def test_shrinking_keeps_what_is_needed() -> None:
    assert shrink(range(100), lambda steps: {17, 71} <= set(steps)) == [17, 71]
