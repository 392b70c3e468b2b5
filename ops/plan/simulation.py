"""A load with faults, minute by minute: crowds of documents under the rules of the functions.

Every decision is the functions' own: what follows a failure (core/next_step), what a row becomes
(core/transitions), when the breaker opens and which lanes it lets back (core/breaker,
breaker/reconcile), what the sweep holds back (sweep/holds), how full backfill makes the lane.
"""

import heapq
from collections import Counter, deque
from dataclasses import dataclass, replace
from itertools import count

from functions.backfill.process import HOLD_SECONDS, MAX_WAITING, PAGE_ITEMS
from functions.breaker.reconcile import steps, wanted
from functions.core.breaker import (
    Circuit,
    Timing,
    advanced,
    failure_ratio,
    is_failing,
    needs_probe,
    opened,
    probed,
    window_start,
)
from functions.core.change import NOWHERE, Operation
from functions.core.control import Control, cooldown_seconds
from functions.core.failure import Failure, FailureKind, Part
from functions.core.identity import DocumentId
from functions.core.lane import PRIORITIES, Lane
from functions.core.ledger_row import Group, LedgerRow, Status
from functions.core.next_step import next_step
from functions.core.ports import Listed
from functions.core.retry_policy import RetrySettings
from functions.core.settings import BreakerSettings
from functions.core.task import Task
from functions.core.transitions import confirm_sent, put_in_lane, record_failure, requeue, settle
from functions.sweep.holds import MAX_WAITING as MAX_BACKLOG
from functions.sweep.holds import Situation, due_rule, healing_rule
from infrastructure.function_table import FUNCTIONS
from ops.estimate import segments_for
from ops.plan import capacity
from ops.plan.domain import domain_for
from ops.plan.story import HOUR, Faults, Moment, Story, percentile
from ops.plan.workload import Worked, Workload

# The clock of the sweep and of the breaker.
STEP_SECONDS = 60
STEP_MS = STEP_SECONDS * 1000
HEALING_SECONDS = 60 * next(
    tick.minutes for tick in FUNCTIONS["sweep"].ticks if tick.job == "maintenance"
)
# A smaller part of a document is not followed any longer.
LEAST_NUMBER = 0.01
# After the last fault, as long as healing may take to bring back what failed in it.
AFTER_SECONDS = 4 * HOUR
# Longer loads are cut off: what is left of them is said.
MOST_SECONDS = 14 * 24 * HOUR
QUEUES = tuple(str(lane) for lane in PRIORITIES)
DOWN = Failure(FailureKind.PROVIDER_ERROR, "the provider is down")
SLOW = Failure(FailureKind.TIMEOUT, "no answer in time")
REJECTED = Failure(FailureKind.INVALID_INPUT, "a text that the provider rejects")


@dataclass(frozen=True)
class Crowd:
    """Documents with one history."""

    row: LedgerRow
    number: float


def simulated(worked: Worked, workload: Workload, faults: Faults | None = None) -> Story:
    """Run a load and its live writes until all is loaded and the faults are over."""
    simulation = Simulation(worked, workload, faults or Faults())
    while not simulation.is_over:
        simulation.step()
    return simulation.story


class Simulation:
    """The lanes, the parked and healing rows and the control item of one target."""

    def __init__(self, worked: Worked, workload: Workload, faults: Faults) -> None:
        self.story = Story(workload, faults)
        self._workload, self._faults = workload, faults
        self._retry, self._settings = RetrySettings(), BreakerSettings()
        self._control = Control()
        self._lanes: dict[Lane, deque[Crowd]] = {lane: deque() for lane in PRIORITIES}
        self._waiting: Counter[str] = Counter()
        self._later: list[tuple[int, int, Crowd]] = []  # by the time that it is due
        self._number = count()
        self._now = 0
        self._to_load = float(workload.documents)
        domain = domain_for(workload.all_chunks, worked.dimensions)
        load = capacity.limits(worked, workload, domain)
        self._provider = min(
            (one.documents_per_second for one in load if one.name.startswith("provider:")),
            default=float("inf"),
        )
        self._provider += workload.writes_per_second
        plans = capacity.lanes(worked, workload, load[0].documents_per_second)
        self._speed = {
            one.lane: one.concurrency * one.lane.traits.batch_size / one.run_seconds
            for one in plans
        }
        live = capacity.run_seconds(Lane.NORMAL, Lane.NORMAL.traits.batch_size, worked, workload)
        self._usual = round(1 + live)  # the stream's window, and a run
        self._segments = segments_for(workload.documents)

    @property
    def is_over(self) -> bool:
        """Tell whether all is loaded and the faults are long over."""
        is_loaded = self._to_load < 1 and self._waiting[Lane.BULK] < 1
        is_quiet = self._now >= self._faults.end + AFTER_SECONDS
        return (is_loaded and is_quiet) or self._now >= MOST_SECONDS

    @property
    def _now_ms(self) -> int:
        return self._now * 1000

    def step(self) -> None:
        """Let a minute pass."""
        self._now += STEP_SECONDS
        self._reconcile()
        self._sweep()
        self._arrive()
        freshness = self._work()
        groups: Counter[Group] = Counter()
        for _, _, crowd in self._later:
            groups[crowd.row.group or Group.OPEN] += crowd.number  # type: ignore[assignment]
        self.story.moments.append(
            Moment(
                self._now,
                self._waiting[Lane.HIGH] + self._waiting[Lane.NORMAL] + groups[Group.OPEN],
                self._waiting[Lane.BULK],
                self._to_load,
                groups[Group.PARKED],
                groups[Group.HEALING],
                freshness,
                self._control.provider.state is not Circuit.CLOSED,
            )
        )

    def _reconcile(self) -> None:
        """Send a probe that is due, and let lanes come back."""
        at = Timing(self._now_ms, self._settings, jitter=0.0)
        breaker = self._control.provider
        if needs_probe(breaker, now_ms=self._now_ms):
            failure = DOWN.message if self._is_within(self._faults.outage) else None
            breaker = probed(breaker, at, failure=failure)
        else:
            breaker = advanced(breaker, at, steps=len(steps(Part.PROVIDER, QUEUES)))
        self._control = self._control.with_breaker(Part.PROVIDER, breaker)

    def _arrive(self) -> None:
        """Bring in what the application wrote, what backfill sends, and hidden messages."""
        if self._workload.writes_per_second:
            number = self._workload.writes_per_second * STEP_SECONDS
            self._put(Crowd(self._row(Lane.NORMAL, self._now_ms), number))
        self._scan()
        while self._later and self._later[0][0] <= self._now_ms:
            if self._later[0][2].row.group is not Group.OPEN:
                break
            self._put(heapq.heappop(self._later)[2])

    def _scan(self) -> None:
        """Fill the bulk lane as backfill does: to the brim, whenever it looks and finds room."""
        waiting, sent = float(self._waiting[Lane.BULK]), 0.0
        worked = 0.0
        if self._enabled(Lane.BULK) and not self._is_within(self._faults.outage):
            left = self._requests_left() / STEP_SECONDS - self._workload.writes_per_second
            worked = min(self._speed[Lane.BULK], max(left, 0.0)) * HOLD_SECONDS
        for _ in range(STEP_SECONDS // HOLD_SECONDS):
            if waiting <= MAX_WAITING:
                more = MAX_WAITING + self._segments * PAGE_ITEMS - waiting
                more = min(more, self._to_load - sent)
                sent, waiting = sent + more, waiting + more
            waiting -= min(waiting, worked)
        if sent:
            self._to_load -= sent
            self._put(Crowd(self._row(Lane.BULK, 0), sent))

    def _requests_left(self) -> float:
        """Return how many documents the provider takes in this step."""
        left = self._provider * STEP_SECONDS
        if self._is_within(self._faults.throttled):
            # All workers wait after each 429, and one of them tries again.
            left *= self._faults.throttled_share * (1 - cooldown_seconds(0, None) / STEP_SECONDS)
        return left

    def _sweep(self) -> None:
        """Send parked rows that are due, and each quarter of an hour those that heal."""
        situation = Situation(self._control, Counter(self._waiting), self._now_ms)
        kept = []
        while self._later and self._later[0][0] <= self._now_ms:
            due_ms, number, crowd = heapq.heappop(self._later)
            left = self._send_due(situation, crowd)
            if left.number:
                kept.append((due_ms, number, left))
        for one in kept:
            heapq.heappush(self._later, one)

    def _send_due(self, situation: Situation, crowd: Crowd) -> Crowd:
        """Send as many of a crowd as the rules let go; return the others."""
        row = crowd.row
        if row.group is Group.OPEN:
            self._put(crowd)
            return replace(crowd, number=0)
        listed = Listed(row.row_key, row.status, row.task.lane, row.due_ms, row.group or Group.OPEN)
        lane = row.task.lane
        number = crowd.number
        if row.group is Group.HEALING:
            lane = lane.heals_in
            is_time = self._now % HEALING_SECONDS == 0
            if not is_time or healing_rule(situation, listed):
                return crowd
            # In one run no more than a lane holds without a backlog.
            number = min(number, max(MAX_BACKLOG + 1 - situation.waiting[lane], 0))
        elif due_rule(situation, listed):
            return crowd
        sent = confirm_sent(requeue(put_in_lane(row, lane), now_ms=self._now_ms))
        situation.waiting[lane] += number  # type: ignore[assignment]
        self._put(Crowd(sent, number))
        return replace(crowd, number=crowd.number - number)

    def _work(self) -> float:
        """Let embed work on each lane that is polled; return the freshness of live writes."""
        left, ends = self._requests_left(), Counter[int]()
        passed = failed = 0.0
        for lane in PRIORITIES:
            if not self._enabled(lane):
                continue
            most = min(self._speed[lane] * STEP_SECONDS, left)
            is_down = self._is_within(self._faults.outage)
            if is_down:
                # From then on the breaker is open.
                most = min(most, self._settings.least_requests * lane.traits.batch_size)
            worked = self._take(lane, most)
            number = sum(crowd.number for crowd in worked)
            left -= number
            requests = number / lane.traits.batch_size
            share = 1.0 if is_down else self._slow_share()
            passed, failed = passed + requests * (1 - share), failed + requests * share
            for crowd in worked:
                self._end(crowd, ends, share)
        self._count(passed, failed)
        self.story.freshness += ends
        return percentile(ends, 95)

    def _slow_share(self) -> float:
        """Return which share of the documents gets no answer in time."""
        is_shaky = self._is_within(self._faults.shaky)
        return self._faults.shaky_share if is_shaky else self._faults.slow_share

    def _end(self, crowd: Crowd, ends: "Counter[int]", share: float) -> None:
        """Complete a crowd but for those that fail; count live writes by their seconds."""
        slow = crowd.number * share
        rejected = (crowd.number - slow) * self._faults.rejected_share
        self._fail(crowd.row, rejected, REJECTED)
        self._fail(crowd.row, slow, DOWN if share == 1 else SLOW)
        done = crowd.number - slow - rejected
        self.story.completed += done
        if crowd.row.progress.heals:
            self.story.healed += done
        if crowd.row.written_ms and done:
            row = crowd.row
            ready_ms = max(row.queued_ms, row.progress.next_attempt_ms or 0)
            # What was ready in this minute did not have to wait for its end.
            ended_ms = ready_ms if ready_ms > self._now_ms - STEP_MS else self._now_ms
            ends[self._usual + (ended_ms - row.written_ms) // 1000] += done  # type: ignore[assignment]

    def _fail(self, row: LedgerRow, number: float, failure: Failure) -> None:
        """Decide what follows a failure, as embed does."""
        if number < LEAST_NUMBER:
            self.story.completed += number
            return
        tried = record_failure(row, failure, now_ms=self._now_ms)
        step = next_step(
            failure,
            tried.progress,
            self._retry,
            document_type="",
            now_ms=self._now_ms,
            is_failing=is_failing(
                self._control.provider, now_ms=self._now_ms, settings=self._settings
            ),
            jitter=0.5,
        )
        after = settle(tried, step, content_hash=None, now_ms=self._now_ms)
        if after.is_given_up:
            self.story.failed += number
            return
        due_ms = after.progress.next_attempt_ms or self._now_ms
        heapq.heappush(self._later, (due_ms, next(self._number), Crowd(after, number)))

    def _count(self, passed: float, failed: float) -> None:
        """Count requests for the breaker, which may open."""
        breaker = self._control.provider
        started = window_start(breaker, now_ms=self._now_ms, settings=self._settings)
        breaker = replace(
            breaker, window_ms=started, successes=round(passed), failures=round(failed)
        )
        ratio = failure_ratio(breaker, now_ms=self._now_ms, settings=self._settings)
        if ratio >= self._settings.failure_ratio and not breaker.state.stops_work:
            at = Timing(self._now_ms, self._settings, jitter=0.0)
            breaker = opened(breaker, at, reason=DOWN.message)
            self.story.opened += 1
        self._control = self._control.with_breaker(Part.PROVIDER, breaker)

    def _take(self, lane: Lane, most: float) -> list[Crowd]:
        """Take documents from the head of a lane; a crowd may be parted."""
        taken = []
        queue = self._lanes[lane]
        while queue and most > 0:
            crowd = queue.popleft()
            number = min(crowd.number, most)
            taken.append(replace(crowd, number=number))
            if crowd.number > number:
                queue.appendleft(replace(crowd, number=crowd.number - number))
            most -= number
            self._waiting[lane] -= number  # type: ignore[assignment]
        return taken

    def _put(self, crowd: Crowd) -> None:
        lane = crowd.row.task.lane
        self._lanes[lane].append(crowd)
        self._waiting[lane] += crowd.number  # type: ignore[assignment]

    def _enabled(self, lane: Lane) -> bool:
        return wanted(self._control, QUEUES)[lane]

    def _is_within(self, span: tuple[int, int]) -> bool:
        return span[0] < self._now <= span[1]

    def _row(self, lane: Lane, written_ms: int) -> LedgerRow:
        task = Task("target", "source", DocumentId("crowd"), {}, version=1, lane=lane)
        return LedgerRow(
            task=task,
            position=NOWHERE,
            operation=Operation.UPSERT,
            status=Status.PENDING,
            created_ms=self._now_ms,
            queued_ms=self._now_ms,
            written_ms=written_ms,
        )
