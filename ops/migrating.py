"""Migrations: searches move to a target that replaces another, and back, without a pause."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from functions.core.backfill_job import Estimate, Job, JobState, Only
from ops.backfilling import described
from ops.backfilling import start as start_backfill
from ops.frame import Noun
from ops.jobs import jobs_of, status_of
from ops.lanes import in_work, lanes_of
from ops.migration import GateStore, Migration, migration_of
from ops.migration_answers import (
    Finished,
    MigrationStatus,
    Started,
    Switched,
    next_step,
    removal_steps,
)
from ops.migration_gate import GateResult, measured
from ops.output import CommandError, UsageError, say
from ops.proposal import Proposal
from ops.quality_judgments import TAKEN, Taken

if TYPE_CHECKING:
    from functions.core.verification import Pair
    from ops.deployment import Deployment

NOUN = Noun(
    "State",
    group="migrate",
    summary="Let a new target answer the searches of an old one, and back.",
    default="status",
)
TARGET = click.Option(["--target"], metavar="NAME", help="The new target, where several are.")
LEAST_COVERAGE = 99.9
MOST_LOSS = 0.02
QUESTIONS = 100
# Live writes pass through the lanes of both; one moment without any is waited for.
EMPTY_SECONDS = 60.0
LOOK_SECONDS = 1.0


@NOUN.change_command(
    TARGET,
    examples=[
        "migrate start --dry-run --reason 'new model'",
        "migrate start --stage prod --reason 'new model'",
    ],
    asks=True,
    needs_reason=True,
)
def start(deployment: "Deployment", *, reason: str, target: str | None = None) -> Proposal[Started]:
    """Fill the new target from the tables, after an estimate of what it will cost."""
    from ops.estimate import estimate
    from ops.verification import comparison, pairs

    migration = migration_of(deployment, target)
    running = [job.id for job in _jobs(migration) if job.state is JobState.RUNNING]
    if running:
        look = deployment.command("jobs")
        raise UsageError(f"{', '.join(running)} is running already: `{look}` shows how far it is")
    say("reading a sample of each table")
    estimates: list[tuple[Pair, Estimate]] = [
        (pair, estimate(comparison(deployment, pair), Only.MISSING, migration.known_chunks))
        for pair in pairs(deployment, None, migration.new.name)
    ]
    doing = "; ".join(described(pair, Only.MISSING, found) for pair, found in estimates)
    question = f"Backfill {doing}?"

    def act() -> Started:
        begun = [
            start_backfill(deployment, pair, Only.MISSING, found, reason=reason)
            for pair, found in estimates
        ]
        return Started(
            target=migration.new.name,
            replaces=migration.old.name,
            jobs=tuple(status_of(deployment, job) for job in begun),
        )

    documents = sum(found.documents for _, found in estimates)
    return Proposal(f"backfill {doing}", documents, act, (question,))


@NOUN.stack_command(TARGET, examples=["migrate status", "migrate status --stage prod --json"])
def status(deployment: "Deployment", *, target: str | None = None) -> MigrationStatus:
    """Show how far a migration is, and what is next."""
    migration = migration_of(deployment, target)
    coverage = migration.coverage()
    lanes = lanes_of(deployment, migration.new.name, in_work(deployment))
    jobs = tuple(status_of(deployment, job) for job in _jobs(migration))
    answering = migration.answering().name
    kept = GateStore(migration).read()
    return MigrationStatus(
        target=migration.new.name,
        replaces=migration.old.name,
        answered_by=answering,
        reuses_vectors=bool(migration.new.reused_index),
        documents=coverage.documents,
        covered=coverage.covered,
        coverage_percent=coverage.percent,
        lanes=lanes,
        jobs=jobs,
        gate=None if kept is None else GateResult.model_validate_json(kept),
        next=next_step(
            is_switched=answering == migration.new.name,
            is_covered=coverage.percent >= LEAST_COVERAGE,
            jobs=jobs,
            dead_letters=lanes.dead_letters,
            command=deployment.command,
        ),
    )


@NOUN.change_command(
    TARGET,
    click.Option(
        ["--least-coverage"],
        type=click.FloatRange(0, 100),
        default=LEAST_COVERAGE,
        show_default=True,
        help="Refuse with fewer of the documents in the new target, in per cent.",
    ),
    click.Option(
        ["--most-loss"],
        type=click.FloatRange(0, 1),
        default=MOST_LOSS,
        show_default=True,
        help="Refuse if the new target's nDCG@10 is lower by more than this.",
    ),
    click.Option(
        ["--questions"],
        type=click.IntRange(min=1, max=1000),
        default=QUESTIONS,
        show_default=True,
        help="How many questions both targets are asked first.",
    ),
    click.Option(
        ["--taken"],
        type=click.Choice(TAKEN),
        default="words",
        show_default=True,
        help="What of a document must find it.",
    ),
    click.Option(["--force"], is_flag=True, help="Switch whatever coverage and quality are."),
    examples=[
        "migrate switch --dry-run --reason 'new model'",
        "migrate switch --stage prod --reason 'new model' --yes",
        "migrate switch --force --reason 'the old index is damaged'",
    ],
    asks=True,
    needs_reason=True,
)
def switch(
    deployment: "Deployment",
    *,
    reason: str,
    target: str | None = None,
    least_coverage: float = LEAST_COVERAGE,
    most_loss: float = MOST_LOSS,
    questions: int = QUESTIONS,
    taken: Taken = "words",
    force: bool = False,
) -> Proposal[Switched]:
    """Let the new target answer the searches of the old one, if it is as complete and as good."""
    del reason  # The frame notes it.
    migration = migration_of(deployment, target)
    if migration.answering() is migration.new:
        raise UsageError(
            f"searches of {migration.old.name} are answered by {migration.new.name} already"
        )
    coverage = migration.coverage()
    missing = (
        f"{coverage.missing:,} of {coverage.documents:,} documents are missing in"
        f" {migration.new.name}: coverage {coverage.percent:.2f} %, at least"
        f" {least_coverage:g} % is asked for"
    )
    is_short = coverage.percent < least_coverage
    if is_short and not force:
        # Before any question is asked: what is missing cannot be found.
        raise CommandError(f"not switched: {missing}. --force switches all the same")
    gate = measured(migration, questions=questions, taken=taken)
    GateStore(migration).write(gate.model_dump_json())
    for line in gate.view():
        say(line)
    is_worse = gate.difference.mean < -most_loss
    if is_worse and not force:
        raise CommandError(
            f"not switched: nDCG@10 is lower by {-gate.difference.mean:.3f}, and at most"
            f" {most_loss:g} is allowed. --force switches all the same"
        )
    doing = (
        f"let {migration.new.name} answer the searches of {migration.old.name}:"
        f" coverage {coverage.percent:.2f} %, nDCG@10 {gate.old_ndcg_at_10.mean:.3f} ->"
        f" {gate.new_ndcg_at_10.mean:.3f}, overlap@10 {gate.overlap_at_10.mean:.3f}"
        f"{', forced' if is_short or is_worse else ''}"
    )
    question = f"{doing[0].upper()}{doing[1:]}?"
    return Proposal(doing, coverage.documents, lambda: _moved(migration, to_new=True), (question,))


@NOUN.change_command(
    TARGET,
    examples=["migrate rollback", "migrate rollback --stage prod --reason 'worse results'"],
)
def rollback(deployment: "Deployment", *, target: str | None = None) -> Proposal[Switched]:
    """Let the old target answer its searches again, at once."""
    migration = migration_of(deployment, target)
    doing = f"let {migration.old.name} answer its searches again"
    return Proposal(doing, 0, lambda: _moved(migration, to_new=False))


@NOUN.change_command(TARGET, examples=["migrate finish", "migrate finish --stage prod"])
def finish(
    deployment: "Deployment",
    *,
    target: str | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> Proposal[Finished]:
    """Check that nothing is left in the old target, and say what to remove."""
    migration = migration_of(deployment, target)
    if migration.answering() is migration.old:
        raise UsageError(
            f"searches of {migration.old.name} are not answered by {migration.new.name} yet:"
            f" `{deployment.command('migrate', 'switch')}` comes first"
        )
    left = _left(migration, wait)
    if left:
        raise CommandError(f"not finished: {'; '.join(left)}")
    new, old = migration.new.name, migration.old.name
    done = Finished(target=new, replaced=old, steps=tuple(removal_steps(migration)))
    return Proposal(f"end the migration to {new}", 0, lambda: done)


def _jobs(migration: Migration) -> list[Job]:
    name = migration.new.name
    return [job for job in jobs_of(migration.deployment).listed() if job.target == name]


def _moved(migration: Migration, *, to_new: bool) -> Switched:
    chosen = migration.new if to_new else migration.old
    done = migration.let_answer(chosen)
    return Switched(
        target=migration.old.name,
        answered_by=chosen.name,
        index=done["after"],
        before=done["before"],
    )


def _left(migration: Migration, wait: Callable[[float], None]) -> list[str]:
    """Name what the old target still has to do; live writes pass through, and are waited for."""
    deployment, old = migration.deployment, migration.old.name
    deadline = time.monotonic() + EMPTY_SECONDS
    while True:
        dead = deployment.count_dead_letters(old)
        waiting = {lane: sum(deployment.depth(url)) for lane, url in deployment.queues[old].items()}
        if dead or not any(waiting.values()) or time.monotonic() > deadline:
            break
        wait(LOOK_SECONDS)
    running = [
        job.id
        for job in jobs_of(deployment).listed()
        if job.target == old and not job.state.has_ended
    ]
    look = deployment.command("dead", "list")
    return [
        *([f"{dead} dead letters of {old}: `{look}` shows them"] if dead else []),
        *(
            f"{number} messages in the lane {lane} of {old}"
            for lane, number in waiting.items()
            if number
        ),
        *(f"the backfill {job} of {old} has not ended" for job in running),
    ]
