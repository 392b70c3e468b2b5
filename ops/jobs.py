"""Backfills that are kept: how far each is; paused, resumed or cancelled by a person."""

import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from functions.core.backfill_job import Job, JobState, Only, Segment
from functions.core.errand import SegmentErrand
from ops.frame import Noun
from ops.output import FAILED, OK, Answer, CommandError, UsageError, moment, table
from ops.proposal import Proposal

if TYPE_CHECKING:
    from functions.adapters.dynamodb_jobs import DynamoDbJobs
    from ops.deployment import Deployment

NOUN = Noun(
    "State", group="jobs", summary="List backfills; pause, resume or cancel one.", default="list"
)
ID = click.Argument(["job"], help="The id of the job, as `embedq jobs` shows it.")


class JobStatus(Answer):
    """A backfill, and how far it is."""

    id: str
    source: str
    target: str
    only: Only
    state: JobState
    by: str
    reason: str
    started: datetime
    ended: datetime | None
    failure: str
    items: int
    scanned: int
    sent: int
    on_their_way: int
    tokens: int
    seconds_left: float | None

    @property
    def exit_code(self) -> int:
        return FAILED if self.state is JobState.FAILED else OK

    @property
    def percent(self) -> int:
        if self.state is JobState.DONE:
            return 100
        return min(99, 100 * self.scanned // self.items) if self.items else 0

    @property
    def line(self) -> str:
        left = "" if self.seconds_left is None else f", about {duration(self.seconds_left)} left"
        return (
            f"{self.percent} %: {self.scanned:,} of {self.items:,} items read,"
            f" {self.sent:,} documents sent{left}"
        )

    def view(self) -> Iterable[str]:
        why = f": {self.failure}" if self.failure else ""
        return [f"backfill {self.id} is {self.state}{why}", f"  {self.line}"]


class Jobs(Answer):
    """All backfills that are kept, the newest first."""

    jobs: tuple[JobStatus, ...]

    def view(self) -> Iterable[Any]:
        if not self.jobs:
            return ["no backfill is known here"]
        rows = [
            (
                one.id,
                f"{one.source} -> {one.target}",
                one.only,
                one.state,
                f"{one.percent} %",
                f"{one.sent:,}",
                "" if one.seconds_left is None else duration(one.seconds_left),
                one.by,
                one.failure or one.reason,
            )
            for one in self.jobs
        ]
        names = ["job", "what", "only", "state", "read", "sent", "left", "by", "reason"]
        return [table(names, rows)]


@NOUN.stack_command(examples=["jobs list", "jobs list --stage prod --json"], name="list")
def list_jobs(deployment: "Deployment") -> Jobs:
    """List the backfills with their progress."""
    return Jobs(jobs=tuple(status_of(deployment, job) for job in jobs_of(deployment).listed()))


@NOUN.change_command(ID, examples=["jobs pause 20260131-1200-ab12"])
def pause(deployment: "Deployment", job: str) -> Proposal[JobStatus]:
    """Stop a backfill after the page it is at; what was sent is worked."""
    return _change(deployment, job, JobState.PAUSED, before=(JobState.RUNNING,))


@NOUN.change_command(ID, examples=["jobs resume 20260131-1200-ab12"])
def resume(deployment: "Deployment", job: str) -> Proposal[JobStatus]:
    """Let a paused or failed backfill go on where it stopped."""
    stopped = (JobState.PAUSED, JobState.FAILED)
    return _change(deployment, job, JobState.RUNNING, before=stopped)


@NOUN.change_command(ID, examples=["jobs cancel 20260131-1200-ab12"])
def cancel(deployment: "Deployment", job: str) -> Proposal[JobStatus]:
    """End a backfill for good; what was sent is worked."""
    going = (JobState.RUNNING, JobState.PAUSED, JobState.FAILED)
    return _change(deployment, job, JobState.CANCELLED, before=going)


def send(deployment: "Deployment", job: Job, segments: Sequence[Segment]) -> None:
    from functions.adapters.sqs_errands import SqsErrands

    errands = SqsErrands(deployment.sqs, deployment.outputs["ErrandsQueueUrl"])
    # Of a job whose segments are all done, one is sent, to end it.
    for one in [one for one in segments if not one.is_done] or segments[:1]:
        errands.send(SegmentErrand(job.id, one.number))


def jobs_of(deployment: "Deployment") -> "DynamoDbJobs":
    from functions.adapters.dynamodb_jobs import DynamoDbJobs
    from functions.core.settings import RetentionSettings

    kept = RetentionSettings.model_validate_json(deployment.outputs["Retention"]).jobs
    table = deployment.outputs["LedgerTable"]
    return DynamoDbJobs(deployment.client("dynamodb"), table, kept_days=kept)


def known(deployment: "Deployment", job: str) -> Job:
    found = jobs_of(deployment).read(job)
    if found is None:
        raise UsageError(f"there is no job {job}: `{deployment.command('jobs')}` lists them")
    return found


def _change(
    deployment: "Deployment", job: str, state: JobState, *, before: Sequence[JobState]
) -> Proposal[JobStatus]:
    found = known(deployment, job)
    if found.state not in before:
        raise UsageError(f"job {job} is {found.state}, not {' or '.join(before)}")

    def act() -> JobStatus:
        jobs = jobs_of(deployment)
        if not jobs.set_state(job, state, before=before, now_ms=_now_ms()):
            raise CommandError(f"job {job} has changed meanwhile: look at it again")
        if state is JobState.RUNNING:
            send(deployment, found, jobs.segments(found))
        return status_of(deployment, known(deployment, job))

    left = max(
        0, found.estimate.documents - sum(s.sent for s in jobs_of(deployment).segments(found))
    )
    return Proposal(f"make the backfill {job} {state}", left, act)


def status_of(deployment: "Deployment", job: Job) -> JobStatus:
    segments = jobs_of(deployment).segments(job)
    scanned = sum(one.scanned for one in segments)
    items = max(job.estimate.items, scanned)
    return JobStatus(
        id=job.id,
        source=job.source,
        target=job.target,
        only=job.only,
        state=job.state,
        by=job.by,
        reason=job.reason,
        started=moment(job.created_ms),
        ended=None if job.ended_ms is None else moment(job.ended_ms),
        failure=job.failure or next((one.failure for one in segments if one.failure), ""),
        items=items,
        scanned=scanned,
        sent=sum(one.sent for one in segments),
        on_their_way=sum(one.on_their_way for one in segments),
        tokens=job.estimate.tokens,
        seconds_left=seconds_left(job, scanned=scanned, items=items, now_ms=_now_ms()),
    )


def seconds_left(job: Job, *, scanned: int, items: int, now_ms: int) -> float | None:
    """Estimate how long a running job takes, if it goes on as it went so far."""
    if job.state is not JobState.RUNNING or not scanned:
        return None
    return (items - scanned) * (now_ms - job.created_ms) / 1000 / scanned


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
