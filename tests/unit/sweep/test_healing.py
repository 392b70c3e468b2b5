"""Healing: what ran out of attempts is tried again while the live lanes are quiet."""

import pytest

from functions.core.breaker import Circuit
from functions.core.failure import Failure, FailureError, FailureKind, Part
from functions.core.lane import Lane
from functions.core.ledger_row import Status
from functions.sweep.holds import MAX_WAITING, OVERDUE_MS, QUIET_WAITING, Hold
from tests.builders import make_pipeline
from tests.fake_embedder import FakeEmbedder
from tests.unit.sweep.world import World


def test_failed_document_is_tried_again_in_the_bulk_lane(world: World) -> None:
    """R30: its attempts and the start of its failing stay, so that healing has an end."""
    failed = world.fail("a", lane=Lane.HIGH)

    world.run("maintenance")

    row = world.row(failed)
    assert world.tasks(Lane.BULK) == [row.task]
    assert (row.status, row.task.lane) == (Status.PENDING, Lane.BULK)
    assert (row.progress.attempts, row.progress.heals) == (
        failed.progress.attempts,
        failed.progress.heals,
    )
    assert row.progress.failing_since_ms == failed.progress.failing_since_ms
    assert (row.outcome.failed_ms, row.outcome.reason) == (None, None)


@pytest.mark.parametrize(
    ("lane", "queue"),
    [(Lane.SEQUENTIAL, "sequential-articles"), (Lane.DELETE, "delete")],
)
def test_lane_that_has_its_own_meaning_is_kept(world: World, lane: Lane, queue: str) -> None:
    """R15 R30: a sequential source has one lane; a delete needs no provider."""
    failed = world.fail("a", lane=lane)

    world.run("maintenance")

    assert world.tasks(queue) == [world.row(failed).task]


@pytest.mark.parametrize("lane", [Lane.HIGH, Lane.NORMAL])
def test_healing_waits_until_the_live_lanes_are_quiet(world: World, lane: Lane) -> None:
    """R30: more than a batch that waits; messages in work or in backoff are not counted."""
    failed = world.fail("a")
    world.fill(lane, QUIET_WAITING + 1)

    world.run("maintenance")
    assert (world.row(failed), world.held_back()) == (failed, {Hold.BUSY})

    world.queues.receive(f"default/{lane}", 1)
    world.run("maintenance")
    assert world.row(failed).status is Status.PENDING


def test_stage_that_is_never_quiet_heals_half_an_hour_later(world: World) -> None:
    """R30: the bulk lane is the last to be served anyway."""
    failed = world.fail("a")
    world.fill(Lane.NORMAL, QUIET_WAITING + 1)

    world.clock.advance(OVERDUE_MS / 1000)
    world.run("maintenance")
    assert world.row(failed) == failed

    world.clock.advance(1)
    world.run("maintenance")
    assert world.tasks(Lane.BULK) == [world.row(failed).task]


def test_healing_comes_to_an_end_in_a_stage_that_is_never_quiet() -> None:
    """R27 R30: after a day of tries the document is given up, and a person is informed."""
    broken = FakeEmbedder(always=FailureError(Failure(FailureKind.PROVIDER_ERROR, "503")))
    pipeline = make_pipeline(embedders={"default": broken})
    pipeline.tables["articles"].put({"id": "a", "body": "text"})
    pipeline.deliver_new()
    for number in range(QUIET_WAITING + 1):
        group = f"g{number}"
        pipeline.queues.put("default/high", "{}", group=group, deduplication_id=None)

    for _ in range(3 * 24 * 4):
        for queue in ("default/normal", "default/bulk"):
            pipeline.run(queue)
        pipeline.clock.advance(15 * 60)
        pipeline.reconcile()
        pipeline.sweep("due")
        pipeline.sweep("maintenance")

    [row] = pipeline.ledger.rows.values()
    assert row.status is Status.FAILED_MAX_RETRIES


def test_failed_delete_does_not_wait_for_a_quiet_hour(world: World) -> None:
    """R07 R30: it needs no provider, and old text is to go."""
    failed = world.fail("a", lane=Lane.DELETE)
    world.fill(Lane.NORMAL, QUIET_WAITING + 1)

    world.run("maintenance")

    assert world.tasks(Lane.DELETE) == [world.row(failed).task]


def test_sequential_queue_is_a_live_lane(world: World) -> None:
    """R30: whatever its source is called."""
    failed = world.fail("a")
    for number in range(QUIET_WAITING + 1):
        group = f"g{number}"
        world.queues.put("default/sequential-articles", "{}", group=group, deduplication_id=None)

    world.run("maintenance")

    assert world.row(failed) == failed


@pytest.mark.parametrize("waiting", [1, MAX_WAITING + 1])
def test_bulk_work_holds_healing_only_as_a_backlog(world: World, waiting: int) -> None:
    """R30 R32: bulk is where healing goes, so that its depth is what counts."""
    failed = world.fail("a")
    world.fill(Lane.BULK, waiting)

    world.run("maintenance")

    assert (world.row(failed).status is Status.PENDING) == (waiting == 1)


def test_healing_keeps_its_schedule(world: World) -> None:
    """R30: not before it is due."""
    failed = world.fail("a", in_ms=60_000)

    world.run("maintenance")
    assert world.row(failed) == failed

    world.clock.advance(60)
    world.run("maintenance")
    assert len(world.tasks(Lane.BULK)) == 1


@pytest.mark.parametrize("part", [Part.PROVIDER, Part.INDEX])
def test_healing_waits_for_the_breaker(world: World, part: Part) -> None:
    """R25 R30: until it is closed again."""
    failed = world.fail("a")
    world.switch(part, Circuit.REOPENING)

    world.run("maintenance")

    assert (world.row(failed), world.held_back()) == (failed, {Hold.TROUBLED})


def test_document_that_failed_for_good_is_left_to_a_person(world: World) -> None:
    """R24 R30: no schedule, no healing."""
    failed = world.fail("a", next_attempt_ms=None)

    world.run("maintenance")

    assert world.row(failed) == failed
