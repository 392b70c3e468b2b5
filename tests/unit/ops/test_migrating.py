"""Migrations: what is covered, which target is meant, and what an operator does next."""

from typing import Any

import pytest

from functions.core.backfill_job import JobState, Only
from functions.core.entry_shape import BucketSum
from functions.core.settings import TargetSettings
from ops.jobs import JobStatus
from ops.migration import Coverage, covered, migration_of
from ops.migration_next import Situation, next_step
from ops.output import UsageError, moment
from tests.builders import NOW_MS, make_target

OLD = make_target()
NEW = make_target(name="next", index="next", replaces="default")


@pytest.mark.parametrize(
    ("old", "new", "coverage"),
    [
        ({}, {}, Coverage(0, 0)),
        ({1: BucketSum(3)}, {}, Coverage(3, 0)),
        ({1: BucketSum(3)}, {1: BucketSum(2)}, Coverage(3, 2)),
        # What only the new one has makes up for nothing.
        ({1: BucketSum(3), 2: BucketSum(1)}, {1: BucketSum(9)}, Coverage(4, 3)),
        # An entry without vectors is not found by meaning.
        ({1: BucketSum(3)}, {1: BucketSum(3, without_vectors=1)}, Coverage(3, 2)),
    ],
)
def test_coverage_counts_what_the_old_index_has(
    old: dict[int, BucketSum], new: dict[int, BucketSum], coverage: Coverage
) -> None:
    """R44: bucket by bucket."""
    assert covered(old, new) == coverage


@pytest.mark.parametrize(("documents", "found", "percent"), [(0, 0, 100), (8, 2, 25), (8, 8, 100)])
def test_coverage_in_per_cent(documents: int, found: int, percent: float) -> None:
    """R44: an empty index lacks nothing."""
    assert Coverage(documents, found).percent == percent


class Deployed:
    """As much of a deployment as names targets, and commands."""

    def __init__(self, *targets: TargetSettings) -> None:
        self.targets = {one.name: one for one in targets}

    def command(self, *words: str) -> str:
        return " ".join(["embedq", *words])


def migration(name: str | None, *targets: TargetSettings) -> Any:
    deployed: Any = Deployed(*targets)
    return migration_of(deployed, name)


def test_only_migration_needs_no_name() -> None:
    """R44: the usual stage has one."""
    found = migration(None, OLD, NEW)

    assert (found.old.name, found.new.name) == ("default", "next")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (None, "which target? --target is one of: next, third"),
        ("default", "default replaces no other target: --target is one of: next, third"),
        ("nxt", "nxt replaces no other target: --target is one of: next, third"),
    ],
)
def test_migration_that_is_not_there_is_named(name: str | None, message: str) -> None:
    """R44: with those that are."""
    other = make_target(name="other")
    third = make_target(name="third", replaces="other")

    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        migration(name, OLD, NEW, other, third)


@pytest.mark.parametrize(
    ("others", "command"),
    [
        ([], "embedq migrate finish"),
        (
            [make_target(name="third", replaces="other"), make_target(name="other")],
            "embedq migrate finish --target next",
        ),
    ],
)
def test_next_command_names_the_target_where_several_replace_another(
    others: list[TargetSettings], command: str
) -> None:
    """R44: it can be run as it stands."""
    found = migration("next", OLD, NEW, *others)

    assert found.command("migrate", "finish") == command
    assert found.command("dead", "causes") == "embedq dead causes"


def test_stage_without_a_migration_says_how_to_begin_one() -> None:
    """R44: with cdk.json."""
    with pytest.raises(UsageError, match="with `replaces`, and deploy"):
        migration(None, OLD)


def job(state: JobState) -> JobStatus:
    return JobStatus(
        id="1",
        source="articles",
        target="next",
        only=Only.MISSING,
        state=state,
        by="me",
        reason="",
        started=moment(NOW_MS),
        ended=None,
        failure="",
        items=1,
        scanned=1,
        sent=1,
        on_their_way=0,
        tokens=0,
        seconds_left=None,
    )


DONE, RUNNING = [job(JobState.DONE)], [job(JobState.RUNNING)]


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ({}, ["embedq migrate start"]),
        ({"jobs": RUNNING}, ["embedq jobs"]),
        ({"jobs": [job(JobState.PAUSED)]}, ["embedq jobs resume 1", "embedq jobs cancel 1"]),
        ({"jobs": [job(JobState.FAILED)]}, ["embedq jobs resume 1", "embedq jobs cancel 1"]),
        ({"jobs": [job(JobState.CANCELLED)]}, ["wait until the lanes", "embedq migrate start"]),
        ({"jobs": DONE}, ["wait until the lanes are empty", "embedq migrate start"]),
        ({"jobs": DONE, "failing": 1}, ["embedq dead causes", "embedq migrate start"]),
        ({"jobs": DONE, "over_budget": 1}, ["embedq budget", "embedq migrate start"]),
        ({"is_covered": True}, ["embedq migrate switch --reason"]),
        ({"is_covered": True, "failing": 1}, ["embedq dead causes", "embedq migrate switch"]),
        ({"is_covered": True, "over_budget": 1}, ["embedq budget", "embedq migrate switch"]),
        ({"is_covered": True, "jobs": RUNNING}, ["embedq jobs"]),
        ({"is_covered": True, "lost": OLD}, ["embedq migrate switch --force", "embedq verify"]),
        ({"is_covered": True, "lost": NEW}, ["docs/operations/index-was-lost.md"]),
        # After the switch there is a way back, as long as there is an index to go back to.
        ({"is_covered": True, "is_switched": True}, ["embedq migrate finish", "rollback"]),
        ({"is_switched": True}, ["embedq migrate start", "rollback"]),
        ({"is_switched": True, "jobs": DONE}, ["embedq migrate start", "rollback"]),
        ({"is_switched": True, "jobs": RUNNING}, ["embedq jobs", "rollback"]),
        (
            {"is_switched": True, "is_covered": True, "failing": 1},
            ["embedq dead causes", "embedq migrate finish", "rollback"],
        ),
        ({"is_switched": True, "is_covered": True, "lost": OLD}, ["migrate finish"]),
        # With the new index the read alias of the old one is lost: nothing answers.
        ({"is_unanswered": True, "lost": NEW}, ["rollback` at once", "was-lost.md"]),
        ({"is_switched": True, "lost": NEW}, ["rollback` at once", "was-lost.md"]),
    ],
)
def test_status_names_the_next_steps_in_their_order(
    given: dict[str, Any], steps: list[str]
) -> None:
    """R44: from the start to the finish."""
    found = next_step(Situation(**given), NEW, lambda *words: f"embedq {' '.join(words)}")

    places = [found.index(step) for step in steps]
    assert places == sorted(places)
    others = {"migrate finish", "migrate switch", "migrate start"}
    named = {one for one in others if any(one in step for step in steps)}
    assert not any(one in found for one in others - named)


def test_lost_index_before_the_switch_leaves_no_way_back_to_it() -> None:
    """R44: nothing was switched yet."""
    found = next_step(Situation(is_covered=True, lost=OLD), NEW, lambda *words: " ".join(words))

    assert "rollback" not in found
