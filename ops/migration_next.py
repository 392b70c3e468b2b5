"""What an operator does next in a migration. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.core.backfill_job import JobState
from ops.jobs import JobStatus

if TYPE_CHECKING:
    from functions.core.settings import TargetSettings

LOST_INDEX = "docs/operations/index-was-lost.md"


@dataclass(frozen=True)
class Situation:
    """Where a migration stands; all but the first three are about the new target."""

    is_switched: bool = False
    is_unanswered: bool = False  # by either target
    lost: "TargetSettings | None" = None  # whose index is lost
    is_covered: bool = False
    jobs: Sequence[JobStatus] = ()
    failing: int = 0
    over_budget: int = 0


def next_step(now: Situation, new: "TargetSettings", command: Callable[..., str]) -> str:
    """Say what comes next, in its order."""
    steps = "; then ".join(_steps(now, new, command))
    back = command("migrate", "rollback")
    if now.lost is new and (now.is_switched or now.is_unanswered):
        return f"`{back}` at once, so that searches are answered again; then {steps}"
    is_possible = now.is_switched and now.lost is None
    return f"{steps}, or back with `{back}`" if is_possible else steps


def _steps(now: Situation, new: "TargetSettings", command: Callable[..., str]) -> Iterator[str]:
    start = f"`{command('migrate', 'start', '--reason', '...')}`"
    going = next((job for job in now.jobs if not job.state.has_ended), None)
    if now.lost is new:
        yield f"fill the index of {new.name} anew: {LOST_INDEX}"
        return
    if going is not None:
        yield _with_job(going, command)
        return
    if not now.is_covered and not now.jobs:
        yield f"{start}: it estimates the cost first"
        return
    if now.failing:
        yield f"look at what fails: `{command('dead', 'causes')}`"
    if now.over_budget:
        yield f"wait for the budget: `{command('budget')}` shows until when"
    yield (
        _move(now, new, command)
        if now.is_covered
        else (f"wait until the lanes are empty, or {start}")
    )


def _move(now: Situation, new: "TargetSettings", command: Callable[..., str]) -> str:
    if now.is_switched:
        return f"`{command('migrate', 'finish')}`"
    if now.lost is None:
        return f"`{command('migrate', 'switch', '--reason', '...')}`: it asks both targets first"
    look = command("verify", "--target", new.name)
    return (
        f"`{command('migrate', 'switch', '--force', '--reason', '...')}`: there is nothing to"
        f" compare with; `{look}` tells what {new.name} lacks"
    )


def _with_job(job: JobStatus, command: Callable[..., str]) -> str:
    if job.state is JobState.RUNNING:
        return f"wait: `{command('jobs')}` shows how far the backfill is"
    return (
        f"`{command('jobs', 'resume', job.id)}`, as the backfill is {job.state}, or end it with"
        f" `{command('jobs', 'cancel', job.id)}`"
    )
