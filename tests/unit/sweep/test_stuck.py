"""Stuck rows: lost messages and orphans of dead runs come again, each time as an attempt."""

from typing import Any

import pytest

from functions.core.breaker import Circuit
from functions.core.failure import Part
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.sweep.dispatch import CANARIES
from functions.sweep.holds import MAX_WAITING, RELEASED_MS, Hold
from tests.builders import changed, make_row, make_target
from tests.unit.embed.steps import OvertakenLedger
from tests.unit.sweep.world import DAY_MS, HOUR_MS, World, is_busy, parks


def lose(world: World, name: str = "a", **changes: Any) -> LedgerRow:
    """Put a row whose message is gone, and let a day go by."""
    row = world.put(name, queued_ms=world.clock(), **changes)
    world.clock.advance(DAY_MS / 1000)
    return row


@pytest.mark.parametrize("status", [Status.PENDING, Status.PROCESSING])
def test_row_without_a_message_is_sent_again_as_an_attempt(world: World, status: Status) -> None:
    """R29: lost by the queue, or left by a run that crashed; it is in its history."""
    lost = lose(world, status=status, attempts=1)

    world.run("maintenance")

    row = world.row(lost)
    assert world.tasks(Lane.NORMAL) == [row.task]
    assert (row.status, row.progress.attempts, row.progress.sent) == (Status.PENDING, 2, True)
    assert [error.kind for error in row.errors] == ["resource"]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"queued_ms": -DAY_MS + 1}, id="queued less than a day ago"),
        pytest.param({"last_attempt_ms": -HOUR_MS}, id="worked an hour ago"),
        pytest.param(
            {"last_attempt_ms": -HOUR_MS, "status": Status.PROCESSING}, id="in work since an hour"
        ),
        pytest.param({"next_attempt_ms": HOUR_MS}, id="in its backoff"),
        pytest.param({"next_attempt_ms": -DAY_MS + 1}, id="its backoff ended today"),
    ],
)
def test_row_that_was_touched_is_not_stuck(world: World, changes: dict[str, Any]) -> None:
    """R29: past the threshold and past its backoff."""
    now_ms = world.clock()
    state = {"status": changes.get("status", Status.PENDING)}
    times = {name: now_ms + at for name, at in changes.items() if name != "status"}
    row = world.put("a", **{"queued_ms": now_ms - 3 * DAY_MS} | times | state)

    world.run("maintenance")

    assert world.row(row) == row


def test_stuck_row_is_exhausted_in_the_end(world: World) -> None:
    """R29 R27: five attempts, then failed_max_retries with a log line, a metric and an event."""
    lost = lose(world)
    sent = []
    for _ in range(10):
        world.run("maintenance")
        world.clock.advance(DAY_MS / 1000)
        sent.append(world.telemetry.metrics["TasksRequeued"])

    row = world.row(lost)
    assert sent == [1, 2, 3, 4, 5, 5, 5, 5, 5, 5]
    assert (row.status, row.progress.attempts) == (Status.FAILED_MAX_RETRIES, 5)
    assert row.outcome.reason == "stuck after 5 attempts: no run has come to an end with it"
    [logged] = [fields for name, fields in world.telemetry.events if name == "task_exhausted"]
    assert (logged["document_id"], logged["reason"]) == ("a", row.outcome.reason)
    assert world.telemetry.metrics["TasksExhausted"] == 1
    [event] = world.announcer.events
    assert event.status is Status.FAILED_MAX_RETRIES


def test_limit_is_that_of_the_documents_type() -> None:
    """R21: a policy by type, as everywhere."""
    retry = {"types": {"archive": {"max_attempts": 2}}}
    world = World(targets=(make_target(retry=retry),))
    lost = lose(world, type="archive", attempts=2)

    world.run("maintenance")

    assert world.row(lost).status is Status.FAILED_MAX_RETRIES


def test_row_is_not_closed_before_the_world_is_told(world: World) -> None:
    """R27: the next run tries both again; the others are closed and logged."""
    lost = world.put("lost", attempts=5, queued_ms=world.clock())
    other = lose(world, attempts=5)
    world.announcer.refuses = 1

    world.run("maintenance")
    assert (world.row(lost), world.row(other).is_given_up) == (lost, True)
    assert world.telemetry.metrics["TasksExhausted"] == 1

    world.run("maintenance")
    assert world.row(lost).status is Status.FAILED_MAX_RETRIES
    assert len(world.announcer.events) == world.telemetry.metrics["TasksExhausted"] == 2


def test_row_that_a_run_takes_meanwhile_is_not_stuck() -> None:
    """R27 R29: its message was only late; it is neither closed nor sent again."""
    ledger = OvertakenLedger(is_busy)
    world = World(ledger=ledger)
    row = ledger.put(make_row(revision=0, attempts=5, queued_ms=world.clock() - DAY_MS))

    world.run("maintenance")

    assert changed(world.row(row), revision=1) == changed(row, status=Status.PROCESSING)
    assert world.telemetry.metrics["TasksExhausted"] == 0


def test_backlog_is_not_requeued_to_its_own_tail(world: World) -> None:
    """R29: while a lane has a backlog, waiting is not being stuck; other lanes go on."""
    waiting = lose(world, "waiting", lane=Lane.BULK)
    lost = world.put("lost", queued_ms=world.clock() - DAY_MS, lane=Lane.HIGH)
    world.fill(Lane.BULK, MAX_WAITING + 1)

    for _ in range(3):
        world.run("maintenance")

    assert world.row(waiting) == waiting
    assert world.queues.depth("default/bulk") == MAX_WAITING + 1
    assert world.held_back() == {Hold.BACKLOG}
    assert world.row(lost).progress.attempts == 1


@pytest.mark.parametrize("state", [Circuit.OPEN, Circuit.PAUSED, Circuit.REOPENING])
@pytest.mark.parametrize("part", [Part.PROVIDER, Part.INDEX])
def test_outage_of_days_spends_no_attempt(world: World, part: Part, state: Circuit) -> None:
    """R24 R25: what waits behind a breaker is not stuck, nor while its lanes come back."""
    waiting = lose(world)
    world.switch(part, state)

    world.run("maintenance")

    assert world.row(waiting) == waiting
    assert world.held_back() == {Hold.TROUBLED}


@pytest.mark.parametrize("part", [Part.PROVIDER, Part.INDEX])
def test_time_behind_a_breaker_does_not_count(world: World, part: Part) -> None:
    """R24 R25 R29: a stage that was paused for days spends no attempt when it is resumed."""
    waiting = lose(world)
    world.clock.advance(2 * DAY_MS / 1000)
    world.switch(part, Circuit.CLOSED)

    world.clock.advance(RELEASED_MS / 1000 - 1)
    world.run("maintenance")
    assert (world.row(waiting), world.held_back()) == (waiting, {Hold.RELEASED})

    world.clock.advance(1)
    world.run("maintenance")
    assert world.row(waiting).progress.attempts == 1


@pytest.mark.parametrize(("hours", "days"), [(24, 2), (1, 15)], ids=["each day", "each hour"])
def test_breaker_that_opens_again_and_again_holds_no_row_for_ever(
    world: World, hours: int, days: int
) -> None:
    """R29: a lost message is found within two days, or when no queue could have it any more."""
    lost = lose(world)

    for hour in range(days * 24):
        if hour % hours == 0:
            world.switch(Part.PROVIDER, Circuit.OPEN)
            world.switch(Part.PROVIDER, Circuit.CLOSED)
        world.clock.advance(HOUR_MS / 1000 - 1)
        world.run("maintenance")
        world.clock.advance(1)

    assert world.row(lost).progress.attempts >= 1


def test_mass_of_stuck_rows_has_canaries(world: World) -> None:
    """R29: what is broken is not met by all of them."""
    world.work = parks
    for number in range(30):
        world.put(f"d{number}", queued_ms=world.clock() - DAY_MS)

    world.run("maintenance")

    assert world.telemetry.metrics["TasksRequeued"] == CANARIES
