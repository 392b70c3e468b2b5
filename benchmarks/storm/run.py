"""A storm from its first write to the verdict."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from random import Random

from benchmarks.storm.checks import Verdict, check, dead_tasks, final_contents
from benchmarks.storm.payment import Payment, payment
from benchmarks.storm.plan import Plan
from benchmarks.storm.provider import Sales
from benchmarks.storm.settle import SAY_SECONDS, look, settle
from benchmarks.storm.texts import texts_needed
from benchmarks.storm.trouble import Trouble
from benchmarks.storm.world import World
from benchmarks.storm.writers import Writers
from ops.dead_changes import redrive_all

LOOK_SECONDS = 0.5
MOST_PAID = 1.1
SHOWN_VIOLATIONS = 20

Say = Callable[[str], None]


@dataclass(frozen=True)
class Limits:
    """How long a storm may go on, and then the calm after it."""

    storm_seconds: float
    calm_seconds: float
    waited_seconds: float = inf  # from the last kill, but for the time in which embed works
    kill_after_seconds: float = 0.0  # no run is killed sooner after its start


@dataclass(frozen=True)
class Result:
    """What a storm came to."""

    plan: Plan
    seconds: float
    killed: int
    kills: dict[str, int]
    redriven: int
    dead: int
    payment: Payment
    sales: Sales
    verdict: Verdict
    settled_seconds: float  # from the last kill until nothing was under way
    worked_seconds: float  # of these; a slow machine needs more
    most_waited_seconds: float  # of the others

    def violations(self) -> list[str]:
        """Name everything that must not be."""
        found = self.verdict.violations()
        if self.killed < len(self.plan.kills):
            found.append(f"{self.killed} of {len(self.plan.kills)} planned kills hit")
        if self.payment.ratio > MOST_PAID:
            ratio = f"{self.payment.ratio:.3f}"
            found.append(f"paid {ratio} x of the tokens needed, at most {MOST_PAID}")
        if self.settled_seconds - self.worked_seconds > self.most_waited_seconds:
            found.append(
                f"settled {self.settled_seconds:.0f} s after the last kill, and embed worked for"
                f" {self.worked_seconds:.0f} s: at most {self.most_waited_seconds:.0f} s between"
            )
        if self.dead:
            found.append(f"{self.dead} dead letters stay after the redrive")
        return found

    def lines(self) -> Iterator[str]:
        """Write it for people."""
        plan, sales, payment = self.plan, self.sales, self.payment
        kills = ", ".join(f"{folder} {count}" for folder, count in sorted(self.kills.items()))
        endings = ", ".join(f"{s} {n:,}" for s, n in sorted(self.verdict.endings.items()))
        answers = ", ".join(f"{how} {count:,}" for how, count in sales.statuses.items())
        yield f"The storm of seed {plan.seed} is over after {self.seconds:.0f} s."
        yield f"  written     {len(plan.operations):,} operations on {self.documents:,} documents"
        yield (
            f"  broken      {len(plan.faults)} faults of the provider,"
            f" {len(plan.outages)} outages of the index"
        )
        yield f"  killed      {self.killed:,} invocations in the middle of their work ({kills})"
        yield (
            f"  settled     {self.settled_seconds:.0f} s after the last kill; embed worked for"
            f" {self.worked_seconds:.0f} s of them"
        )
        yield f"  provider    {sales.requests:,} requests ({answers})"
        yield (
            f"  paid        {payment.paid:,} tokens, {payment.ratio:.3f} x of the"
            f" {payment.needed:,} that all versions needed"
        )
        yield (
            f"              {payment.again:,} of them for texts that were paid already,"
            f" {payment.strict_ratio:.3f} x of what these texts needed"
        )
        yield f"  dead        {self.redriven} dead letters redriven, {self.dead} left"
        yield f"  ended       {endings}"
        for kind, cases in self.verdict.kinds.items():
            yield f"  {len(cases):>5}       {kind}"
        violations = self.violations()
        yield f"Violations: {len(violations)}" + ("" if violations else ". Everything agrees.")
        yield from (f"  {one}" for one in violations[:SHOWN_VIOLATIONS])

    @property
    def documents(self) -> int:
        return self.verdict.endings.total()


def run_storm(world: World, plan: Plan, *, limits: Limits, say: Say) -> Result:
    """Let the storm go over the world, wait for the calm, and compare everything."""
    began = time.monotonic()
    chance = Random(f"{plan.seed}/victims")
    trouble = Trouble(
        world,
        faults=plan.faults,
        outages=plan.outages,
        kills=plan.kills,
        chance=chance,
        kill_after_seconds=limits.kill_after_seconds,
    )
    _write_in_trouble(world, plan, trouble, limits=limits, say=say)
    killed = world.stack.runner.killed_invocations
    say(f"everything is written and {killed} invocations are killed: now all is whole again")
    worked_seconds = settle(world, limit_seconds=limits.calm_seconds, say=say)
    settled_seconds = time.monotonic() - trouble.last_kill
    dead = dead_tasks(world)
    redriven = redrive_all(world.deployment)
    if redriven:
        say(f"{redriven} dead letters redriven")
        settle(world, limit_seconds=limits.calm_seconds, say=say)
    seconds = time.monotonic() - began
    sales = world.provider.sales()
    needed = texts_needed(plan.operations, world.source, world.target)
    say("comparing table, ledger, index and events")
    return Result(
        plan=plan,
        seconds=seconds,
        killed=killed,
        kills=dict(trouble.kills),
        redriven=redriven,
        dead=look(world).dead,
        payment=payment(sales, needed, world.target),
        sales=sales,
        verdict=check(world, final_contents(plan.operations), dead),
        settled_seconds=settled_seconds,
        worked_seconds=worked_seconds,
        most_waited_seconds=limits.waited_seconds,
    )


def _write_in_trouble(
    world: World, plan: Plan, trouble: Trouble, *, limits: Limits, say: Say
) -> None:
    stop = threading.Event()
    writers = Writers(world.deployment, plan.operations)
    began = said = time.monotonic()
    trouble.start()
    writers.start(stop)
    try:
        while not (writers.are_done and trouble.is_over):
            now = time.monotonic()
            if now - began > limits.storm_seconds:
                break
            if now - said >= SAY_SECONDS:
                said = now
                say(
                    f"{now - began:4.0f} s | {writers.written:,} written,"
                    f" {world.stack.runner.killed_invocations} killed | {trouble.now} |"
                    f" {look(world)}"
                )
            time.sleep(LOOK_SECONDS)
    finally:
        stop.set()
        trouble.stop()
