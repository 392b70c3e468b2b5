"""Backfills: a table that has items already, sent to the index by a function of the stack."""

import secrets
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from functions.core.backfill_job import Estimate, Job, JobState, Only
from ops.frame import SOURCE, TARGET, Noun
from ops.jobs import JobStatus, duration, jobs_of, known, send, status_of
from ops.output import UsageError, bar, say
from ops.proposal import Proposal

if TYPE_CHECKING:
    from functions.core.verification import Pair
    from ops.deployment import Deployment

NOUN = Noun("Documents")
LOOK_SECONDS = 2.0


@NOUN.change_command(
    SOURCE,
    TARGET,
    click.Option(
        ["--only"],
        type=click.Choice([str(one) for one in Only]),
        default=str(Only.MISSING),
        show_default=True,
        help="Which documents: without an entry, with an outdated one, failed ones, or all.",
    ),
    click.Option(["--wait"], is_flag=True, help="Show the progress until all is sent."),
    examples=[
        "backfill --dry-run --reason 'first load'",
        "backfill --source articles --reason 'first load'",
        "backfill --only stale --wait --yes --reason 'new metadata'",
    ],
    asks=True,
    needs_reason=True,
)
def backfill(
    deployment: "Deployment",
    *,
    reason: str,
    source: str | None = None,
    target: str | None = None,
    only: str = Only.MISSING,
    wait: bool = False,
) -> Proposal[JobStatus]:
    """Send items that exist already to the index; a function of the stack does the work."""
    from ops.estimate import estimate, within_budget
    from ops.verification import comparison

    pair = only_pair(deployment, source, target)
    say("reading a sample of the table")
    control = deployment.control.read(pair.target.name)
    found = estimate(comparison(deployment, pair), Only(only))
    found = within_budget(found, pair.target, control)
    doing = f"backfill {described(pair, Only(only), found)}"

    def act() -> JobStatus:
        job = start(deployment, pair, Only(only), found, reason=reason)
        return watch(deployment, job) if wait else status_of(deployment, job)

    return Proposal(doing, found.documents, act, (f"{doing.capitalize()}?",))


def described(pair: "Pair", only: Only, found: Estimate) -> str:
    """Say what a backfill will come to."""
    paid = "" if found.dollars is None else f", about ${found.dollars:,.2f}"
    lasts = (
        "no limit of the provider is configured that would say how long it lasts"
        if found.seconds is None
        else f"at least {duration(found.seconds)} at the provider's configured limits"
    )
    return (
        f"{pair.source.name} into {pair.target.name}, {only}: about {found.documents:,} of"
        f" {found.items:,} items, {found.tokens:,} tokens{paid}; {lasts}{_budget(found)}"
    )


def _budget(found: Estimate) -> str:
    if found.budget_tokens is None:
        return ""
    if found.budget_days == 0:
        return "; its budget pays for all of it today"
    lasts = "10 years" if found.budget_days is None else f"{found.budget_days:,} more days"
    return f"; its budget leaves bulk {found.budget_tokens:,} tokens now, and makes it last {lasts}"


def start(
    deployment: "Deployment", pair: "Pair", only: Only, found: Estimate, *, reason: str = ""
) -> Job:
    """Write a job and send its segments to the function."""
    from ops.action_log import user
    from ops.estimate import segments_for

    now = datetime.now(UTC)
    job = Job(
        id=f"{now:%Y%m%d-%H%M}-{secrets.token_hex(2)}",
        source=pair.source.name,
        target=pair.target.name,
        only=only,
        segments=segments_for(found.items),
        by=user(),
        reason=reason,
        created_ms=round(now.timestamp() * 1000),
        estimate=found,
    )
    jobs = jobs_of(deployment)
    jobs.create(job)
    send(deployment, job, jobs.segments(job))
    return job


def only_pair(deployment: "Deployment", source: str | None, target: str | None) -> "Pair":
    """Return the source and the target that a command is about."""
    from ops.verification import pairs

    found = pairs(deployment, source, target)
    if len(found) > 1:
        names = ", ".join(f"--source {p.source.name} --target {p.target.name}" for p in found)
        raise UsageError(f"which one? {names}")
    return found[0]


def watch(deployment: "Deployment", job: Job) -> JobStatus:
    """Show the progress until the job stops; who stops watching does not stop the job."""
    try:
        with bar() as shown:
            line = shown.add_task(f"backfill {job.id}", total=job.estimate.items)
            while True:
                status = status_of(deployment, known(deployment, job.id))
                shown.update(line, completed=status.scanned, total=max(status.items, 1))
                if status.state is not JobState.RUNNING:
                    return status
                time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        see, end = deployment.command("jobs"), deployment.command("jobs", "cancel", job.id)
        say(f"the backfill {job.id} goes on: `{see}` shows how far it is, `{end}` ends it")
        raise
