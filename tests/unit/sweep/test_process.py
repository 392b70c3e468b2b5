"""The jobs of an event: each gets its time, and none keeps another from running."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.lane import Lane
from functions.core.ledger_row import Group, Status
from functions.core.ports import Listed
from functions.sweep.holds import MAX_WAITING, Hold
from functions.sweep.ports import SecondsLeft
from functions.sweep.process import FINISH_SECONDS, Sweep, SweepError, UnknownJobError
from local.memory.ledger import MemoryLedger
from local.memory.queues import MemoryQueues
from local.memory.runtime import MemoryTelemetry, MovableClock
from tests.builders import make_target
from tests.unit.sweep.world import DAY_MS, HOUR_MS, World


class HalfDown(MemoryLedger):
    """A ledger that cannot list the open rows."""

    def listed(self, groups: Sequence[Group], **rest: Any) -> Iterator[Listed]:
        if Group.OPEN in groups:
            raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "throttled"))
        return super().listed(groups, **rest)


def test_job_that_fails_keeps_no_other_from_running(world: World) -> None:
    """R29: and the run ends in an error, so that the alarm tells it."""
    world.ledger = HalfDown()
    failed = world.fail("a")

    with pytest.raises(SweepError) as caught:
        world.run("maintenance")

    assert str(caught.value) == (
        "sweep maintenance: stuck: store_unavailable: throttled;"
        " census: store_unavailable: throttled"
    )
    assert world.row(failed).status is Status.PENDING
    assert world.telemetry.metrics["SweepJobsFailed"] == 2
    assert world.telemetry.metrics["SweepRuns"] == 1


class LostQueues(MemoryQueues):
    """The queues of one target are gone."""

    asked = 0

    def waiting(self, target: str) -> dict[str, int]:
        if target != "lost":
            return super().waiting(target)
        self.asked += 1
        raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "the queue is gone"))


@pytest.mark.parametrize("event", ["due", "maintenance"])
def test_queues_of_one_target_stop_no_other(event: str) -> None:
    """R29: its rows stay, those of the others are sent, and the alarm tells it."""
    world = World(targets=(make_target(name="lost"), make_target()))
    world.queues = LostQueues(world.clock)
    put = world.park if event == "due" else world.fail
    staying = [put(f"{number}", target="lost", in_ms=-HOUR_MS) for number in range(3)]
    moving = put("a")

    with pytest.raises(SweepError, match="the queue is gone"):
        world.run(event)

    assert [world.row(one) for one in staying] == staying
    assert world.row(moving).status is Status.PENDING
    assert world.row(moving).task.version > moving.task.version
    assert (world.held_back(), world.queues.asked) == ({Hold.UNANSWERED}, 1)


def test_stuck_rows_of_other_targets_are_sent_too() -> None:
    """R29: as those that are due."""
    world = World(targets=(make_target(name="lost"), make_target()))
    world.queues = LostQueues(world.clock)
    long_ago_ms = world.clock() - 2 * DAY_MS
    lost = world.put("a", target="lost", queued_ms=long_ago_ms)
    stuck = world.put("a", queued_ms=long_ago_ms)

    with pytest.raises(SweepError, match="stuck: store_unavailable: the queue is gone"):
        world.run("maintenance")

    assert world.row(lost) == lost
    assert world.row(stuck).task.version > stuck.task.version


@dataclass
class Defective:
    """A job with a defect."""

    name: str = "bad"

    def run(self, seconds_left: SecondsLeft) -> None:  # noqa: ARG002
        raise ZeroDivisionError("secret")


class LoggingTelemetry(MemoryTelemetry):
    """Logs an unexpected error, as the deployed one does."""

    def unexpected(self, error: Exception) -> None:
        self.event("unexpected_error", error=type(error).__name__)


def test_defect_of_a_job_is_named_without_its_text() -> None:
    """R63: its message may hold a document's text."""
    telemetry = LoggingTelemetry()

    with pytest.raises(SweepError) as caught:
        Sweep({"due": (Defective(),)}, telemetry, MovableClock()).run("due", lambda: 60.0)

    assert str(caught.value) == "sweep due: bad: unexpected ZeroDivisionError, see the log"
    assert telemetry.events[0] == ("unexpected_error", {"error": "ZeroDivisionError"})


def test_event_without_a_job_is_refused(world: World) -> None:
    """R29: an event that was changed by hand does not pass in silence."""
    with pytest.raises(UnknownJobError, match="the event's job is 'du'; it is one of: due, m"):
        world.run("du")


@dataclass
class Slow:
    """A job that uses so much of its time."""

    name: str
    clock: MovableClock
    seconds: float
    given: list[float] = field(default_factory=list)

    def run(self, seconds_left: SecondsLeft) -> None:
        self.given.append(seconds_left())
        self.clock.advance(self.seconds)


def test_jobs_share_the_time_of_a_run() -> None:
    """R29: a job with too much to do does not starve the others; what one leaves they get."""
    clock = MovableClock()
    greedy, quick, last = (Slow(name, clock, s) for name, s in (("a", 30), ("b", 1), ("c", 0)))
    end_ms = clock() + 100_000

    Sweep({"maintenance": (greedy, quick, last)}, MemoryTelemetry(), clock).run(
        "maintenance", lambda: (end_ms - clock()) / 1000
    )

    assert greedy.given == [pytest.approx((100 - FINISH_SECONDS) / 3)]
    assert quick.given == [pytest.approx((70 - FINISH_SECONDS) / 2)]
    assert last.given == [pytest.approx(69 - FINISH_SECONDS)]


def test_run_tells_how_long_it_took() -> None:
    """R60: runs and their duration."""
    clock = MovableClock()
    telemetry = MemoryTelemetry()

    Sweep({"due": (Slow("a", clock, 1.5),)}, telemetry, clock).run("due", lambda: 60.0)

    assert telemetry.metrics == {"SweepRuns": 1, "SweepDurationMilliseconds": 1500}


def test_waiting_failed_and_healing_documents_are_counted(world: World) -> None:
    """R28 R29: what the sweep leaves behind, for the dashboard and its alarms."""
    world.park("parked", in_ms=HOUR_MS)
    world.park("over budget", in_ms=HOUR_MS, over_budget=True)
    world.fail("healing", in_ms=HOUR_MS)
    world.put("failed", status=Status.FAILED)
    world.put("partial", status=Status.PARTIALLY_COMPLETED)
    world.put("fresh")
    world.put("stuck", queued_ms=world.clock() - DAY_MS, lane=Lane.BULK)
    world.fill(Lane.BULK, MAX_WAITING + 1)

    world.run("maintenance")

    assert {n: world.telemetry.metrics[n] for n in world.telemetry.metrics if "Docu" in n} == {
        "ParkedDocuments": 1,
        "OverBudgetDocuments": 1,
        "HealingDocuments": 1,
        "FailedDocuments": 1,
        "StuckDocuments": 1,
    }
    assert world.telemetry.metrics["TasksSkippedByBackoff"] == 2


@pytest.mark.parametrize("former", ["target", "source"])
def test_what_is_no_longer_deployed_is_not_counted(world: World, former: str) -> None:
    """R61: an alarm about it would never end."""
    gone = {former: "former"}
    world.park("parked", in_ms=HOUR_MS, **gone)
    world.fail("healing", in_ms=HOUR_MS, **gone)
    world.put("failed", status=Status.FAILED, **gone)
    world.put("stuck", queued_ms=world.clock() - DAY_MS, **gone)

    world.run("maintenance")

    counts = [n for name, n in world.telemetry.metrics.items() if "Docu" in name]
    assert counts == [0, 0, 0, 0, 0]
    assert world.telemetry.metrics["TasksSkippedByBackoff"] == 0


def test_count_that_was_cut_off_is_not_told(world: World) -> None:
    """R29: half a count would look like an improvement."""
    world.put("failed", status=Status.FAILED)

    world.sweep().run("maintenance", lambda: FINISH_SECONDS)

    assert "FailedDocuments" not in world.telemetry.metrics
    assert ("census_cut_off", {"group": "failed"}) in world.telemetry.events
