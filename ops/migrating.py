"""Migrations: searches move to a target that replaces another, and back, without a pause."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click
from pydantic import ValidationError

from functions.core.backfill_job import Estimate, Job, Only
from ops.backfilling import described
from ops.backfilling import start as start_backfill
from ops.frame import Noun
from ops.jobs import jobs_of, status_of
from ops.lanes import in_work, lanes_of
from ops.migration import (
    Coverage,
    GateStore,
    LostIndexError,
    Migration,
    UnansweredError,
    migration_of,
)
from ops.migration_answers import (
    Finished,
    MigrationStatus,
    Started,
    Switched,
    removal_steps,
)
from ops.migration_checks import (
    LEAST_COVERAGE,
    Check,
    check_answering,
    check_coverage,
    check_quality,
    failing,
    open_work,
    over_budget,
    unended,
)
from ops.migration_gate import GateResult
from ops.migration_next import Situation, next_step
from ops.numbers import Amount, Count
from ops.output import CommandError, UsageError, say
from ops.proposal import Proposal
from ops.quality_judgments import TAKEN, Taken

if TYPE_CHECKING:
    from functions.core.settings import TargetSettings
    from functions.core.verification import Pair
    from ops.deployment import Deployment

NOUN = Noun(
    "State",
    group="migrate",
    summary="Let a new target answer the searches of an old one, and back.",
    default="status",
)
TARGET = click.Option(["--target"], metavar="NAME", help="The new target, where several are.")
MOST_LOSS = 0.02
QUESTIONS = 100


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
    from ops.verification import pairs

    migration = migration_of(deployment, target)
    if going := unended(deployment, migration.new.name):
        raise UsageError(f"not started: {'; '.join(going)}")
    say("reading a sample of each table")
    estimates = [
        (pair, _estimate(migration, pair)) for pair in pairs(deployment, None, migration.new.name)
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
    coverage, lost = _known_coverage(migration)
    answering, unanswered = _known_answering(migration)
    lanes = lanes_of(deployment, migration.new.name, in_work(deployment))
    waiting, failed = over_budget(deployment, migration.new.name), failing(migration)
    jobs = tuple(status_of(deployment, job) for job in _jobs(migration))
    situation = Situation(
        is_switched=answering is migration.new,
        is_unanswered=answering is None,
        lost=None if lost is None else lost.target,
        is_covered=coverage.percent >= LEAST_COVERAGE,
        jobs=jobs,
        failing=failed,
        over_budget=waiting,
    )
    return MigrationStatus(
        target=migration.new.name,
        replaces=migration.old.name,
        answered_by="" if answering is None else answering.name,
        reuses_vectors=bool(migration.new.reused_index),
        documents=coverage.documents,
        covered=coverage.covered,
        unanswered=unanswered,
        coverage_percent=0.0 if lost else coverage.percent,
        not_measured="" if lost is None else lost.message,
        lanes=lanes,
        over_budget=waiting,
        failing=failed,
        jobs=jobs,
        gate=_readable(GateStore(migration).read()),
        next=next_step(situation, migration.new, migration.command),
    )


@NOUN.change_command(
    TARGET,
    click.Option(
        ["--least-coverage"],
        type=Amount(0, 100),
        default=LEAST_COVERAGE,
        show_default=True,
        help="Refuse with fewer of the documents in the new target, in per cent.",
    ),
    click.Option(
        ["--most-loss"],
        type=Amount(0, 1),
        default=MOST_LOSS,
        show_default=True,
        help="Refuse if the new target's nDCG@10 is lower by more than this.",
    ),
    click.Option(
        ["--questions"],
        type=Count(min=1, max=1000),
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
    click.Option(
        ["--force"], is_flag=True, help="Switch whatever is measured, and where nothing can be."
    ),
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
    wait: Callable[[float], None] = time.sleep,
) -> Proposal[Switched]:
    """Let the new target answer the searches of the old one, if it is as complete and as good."""
    del reason  # The frame notes it.
    migration = migration_of(deployment, target)
    answering = check_answering(migration)
    coverage = check_coverage(migration, least_coverage)
    # Before any question is asked: what is missing cannot be found.
    _heed(answering, coverage, force=force)
    quality = check_quality(
        migration, most_loss=most_loss, questions=questions, taken=taken, wait=wait
    )
    _heed(quality, force=force)
    is_forced = any(one.fault for one in (answering, coverage, quality))
    doing = (
        f"let {migration.new.name} answer the searches of {migration.old.name}:"
        f" {coverage.found}, {quality.found}{', forced' if is_forced else ''}"
    )

    def act() -> Switched:
        done = _moved(migration, to_new=True)
        if not quality.is_measured:
            GateStore(migration).remove()
        return done

    question = f"{doing[0].upper()}{doing[1:]}?"
    return Proposal(doing, coverage.documents, act, (question,))


@NOUN.change_command(
    TARGET,
    examples=["migrate rollback", "migrate rollback --stage prod --reason 'worse results'"],
    asks=True,
)
def rollback(deployment: "Deployment", *, target: str | None = None) -> Proposal[Switched]:
    """Let the old target answer its searches again, at once; asks if fewer can be found then."""
    migration = migration_of(deployment, target)
    old = migration.old.name
    doing = f"let {old} answer its searches again"
    fewer = _fewer(migration)
    question = f"{fewer} can be found in {old}. Let it answer its searches all the same?"
    return Proposal(doing, 0, lambda: _moved(migration, to_new=False), (question,) if fewer else ())


@NOUN.change_command(TARGET, examples=["migrate finish", "migrate finish --stage prod"])
def finish(
    deployment: "Deployment",
    *,
    target: str | None = None,
    wait: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Proposal[Finished]:
    """Check that the new target has all, and the old one nothing to do; say what to remove."""
    migration = migration_of(deployment, target)
    if migration.answering() is migration.old:
        raise UsageError(
            f"searches of {migration.old.name} are not answered by {migration.new.name} yet:"
            f" `{migration.command('migrate', 'switch')}` comes first"
        )
    found, lost = open_work(migration, wait, clock)
    if found:
        raise CommandError(f"not finished: {'; '.join(found)}")
    new, old = migration.new.name, migration.old.name
    look = migration.command("verify", "--target", new)
    done = Finished(
        target=new,
        replaced=old,
        steps=tuple(removal_steps(migration, is_lost=lost is not None)),
        not_checked=""
        if lost is None
        else f"coverage, and the lanes and dead letters of {old}: {lost}; `{look}` compares {new}"
        " with the tables",
    )
    return Proposal(f"end the migration to {new}", 0, lambda: done)


def _estimate(migration: Migration, pair: "Pair") -> Estimate:
    """Estimate what a backfill comes to, and what the budget makes of it."""
    from ops.estimate import estimate, within_budget
    from ops.verification import comparison

    compare = comparison(migration.deployment, pair)
    found = estimate(compare, Only.MISSING, migration.known_chunks)
    return within_budget(found, pair.target, migration.deployment.control.read(pair.target.name))


def _heed(*checks: Check, force: bool) -> None:
    """Refuse what checks found fault with; by force it is only said."""
    faults = "; ".join(one.fault for one in checks if one.fault)
    if faults and not force:
        raise CommandError(f"not switched: {faults}. --force switches all the same")
    if faults:
        say(faults)


def _known_coverage(migration: Migration) -> tuple[Coverage, LostIndexError | None]:
    """Return the coverage, or that of nothing and which index is lost."""
    try:
        return migration.coverage(), None
    except LostIndexError as error:
        return Coverage(0, 0), error


def _readable(kept: str | None) -> GateResult | None:
    """Read the last result of the gate; one of another version of the command is as none."""
    try:
        return None if kept is None else GateResult.model_validate_json(kept)
    except ValidationError:
        return None


def _known_answering(migration: Migration) -> "tuple[TargetSettings | None, str]":
    """Return the target that answers, or why neither does."""
    try:
        return migration.answering(), ""
    except UnansweredError as error:
        return None, error.message


def _fewer(migration: Migration) -> str:
    """Say how many documents fewer the old index has; nothing where either cannot be asked."""
    from functions.adapters.opensearch_http import OpenSearchError
    from functions.core.failure import FailureError

    count = migration.deployment.count_searchable
    try:
        old, new = count(migration.old.name), count(migration.new.name)
    except (OpenSearchError, FailureError) as error:
        say(f"documents not counted: {error}")
        return ""
    is_less = 100 * old < LEAST_COVERAGE * new
    return f"{old:,} documents, and not {new:,} as in {migration.new.name}," if is_less else ""


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
