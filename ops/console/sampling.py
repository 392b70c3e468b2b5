"""What the stack looks like now and looked like before: asked in a thread while somebody looks."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ops.breakers import Breakers, breakers
from ops.console.changes import Changes
from ops.console.verdict import Verdict, judge
from ops.dead_moves import moves
from ops.dead_queue import Move
from ops.deployment import STACK_ERRORS
from ops.health import Health, health
from ops.measured import Figures, NoFigures, measured
from ops.output import CommandError, moment
from ops.statistics import Census, TargetStats, census, ended_since, target_stats

if TYPE_CHECKING:
    from ops.deployment import Deployment

EVERY_SECONDS = 10.0
# The provider of each target is asked to embed a word: not more often than this.
HEALTH_SECONDS = 60.0
# Metrics have a value for each minute, and CloudWatch charges for the question.
METRICS_SECONDS = 60.0
# Counting a million rows takes long: at most this share of the time is spent on it.
CENSUS_SHARE = 0.1
# Nobody looks any more: a page asks again each time that it hears of a sample.
AWAY_SECONDS = 120.0
# How long the end of a console waits for the question that is under way.
CLOSE_SECONDS = 10.0
RATE_SECONDS = 300
KEPT_POINTS = 720  # two hours


@dataclass(frozen=True)
class Point:
    """The numbers of one target at one moment."""

    at: float
    waiting: int
    open: int
    failed: int
    per_minute: float
    oldest_seconds: float


@dataclass(frozen=True)
class Snapshot:
    """What was found when the stack was asked last."""

    at: datetime
    targets: tuple[TargetStats, ...]
    health: Health
    breakers: Breakers
    moves: tuple[Move, ...]
    counted_at: datetime  # the documents by state; lanes and index are asked each time
    per_minute: dict[str, float]
    measured: Figures | NoFigures

    @property
    def failures(self) -> tuple[int, ...]:
        """Return the numbers that change when documents fail or are sent again."""
        return tuple(
            n
            for one in self.targets
            for n in (one.counts["failed"], one.counts["partial"], _dead_letters(one))
        )


class Sampler:
    """Keeps the last snapshot, the points of the trends and the verdict."""

    def __init__(
        self,
        deployment: "Deployment",
        changes: Changes,
        *,
        every_seconds: float = EVERY_SECONDS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._deployment = deployment
        self._changes = changes
        self._every = every_seconds
        self._now = now
        self.snapshot: Snapshot | None = None
        self.points: dict[str, deque[Point]] = {
            name: deque(maxlen=KEPT_POINTS) for name in deployment.targets
        }
        self.verdict = Verdict()
        self._census: dict[str, Census] = {}
        self._counted = self._count_again = self._checked = self._measured_at = 0.0
        self._health = Health(checks=())
        self._measured: Figures | NoFigures = NoFigures(reason="not asked yet")
        self._looked = 0.0
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def look(self) -> None:
        """Ask the stack now and then, until nobody has looked for a while."""
        with self._lock:
            self._looked = self._now()
            if self._thread is None and not self._ended.is_set():
                self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
                self._thread.start()

    def ask_all(self) -> None:
        """Count and check everything with the next sample, however short ago that was."""
        self._checked = self._count_again = self._measured_at = 0.0

    def close(self) -> None:
        """Ask no more, and let the question that is under way end."""
        self._ended.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        try:
            while not self._ended.is_set() and self._now() - self._looked <= AWAY_SECONDS:
                self.sample()
                self._ended.wait(self._every)
        finally:
            with self._lock:
                self._thread = None

    def sample(self) -> None:
        """Ask the stack once; a stack that does not answer is a finding too."""
        before = self.snapshot
        try:
            found = self._ask()
        except (*STACK_ERRORS, CommandError) as error:
            self.verdict = judge(self.verdict, None, str(error), now=self._now())
        else:
            self.snapshot = found
            self.verdict = judge(self.verdict, found.health, "", now=self._now())
            if before is None or before.failures != found.failures:
                self._changes.note("failures")
            if before is None or before.breakers != found.breakers:
                self._changes.note("breakers")
        self._changes.note("sample")

    def _ask(self) -> Snapshot:
        deployment, began = self._deployment, self._now()
        if began >= self._count_again:
            self._census = census(deployment)
            self._counted, took = began, self._now() - began
            self._count_again = began + max(took / CENSUS_SHARE - took, 0)
        targets = tuple(
            target_stats(deployment, name, found) for name, found in self._census.items()
        )
        since_ms = round((began - RATE_SECONDS) * 1000)
        rates = {
            name: ended_since(deployment, name, since_ms) * 60 / RATE_SECONDS
            for name in self._census
        }
        if began >= self._checked + HEALTH_SECONDS or self._health.exit_code:
            self._health = health(deployment)
            self._checked = began
        if began >= self._measured_at + METRICS_SECONDS:
            self._measured = measured(deployment)
            self._measured_at = began
        for one in targets:
            self.points[one.target].append(_point(one, rates[one.target], began))
        return Snapshot(
            at=moment(round(began * 1000)),
            targets=targets,
            health=self._health,
            breakers=breakers(deployment),
            moves=tuple(moves(deployment)),
            counted_at=moment(round(self._counted * 1000)),
            per_minute=rates,
            measured=self._measured,
        )


def _point(stats: TargetStats, per_minute: float, at: float) -> Point:
    lanes = stats.lanes.lanes if stats.lanes else ()
    oldest = stats.oldest_waiting
    return Point(
        at=at,
        waiting=sum(lane.waiting + lane.in_flight for lane in lanes),
        open=stats.open,
        failed=stats.counts["failed"],
        per_minute=per_minute,
        oldest_seconds=max(at - oldest.timestamp(), 0) if oldest else 0,
    )


def _dead_letters(stats: TargetStats) -> int:
    return stats.lanes.dead_letters if stats.lanes else 0
