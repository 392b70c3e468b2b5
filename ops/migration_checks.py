"""What is measured before a switch, and what a target still has to do before the end: in words."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.core.backfill_job import JobState
from functions.core.ledger_row import Group
from ops.jobs import jobs_of
from ops.migration import GateStore, LostIndexError, Migration
from ops.migration_gate import GateResult, measured
from ops.migration_next import LOST_INDEX
from ops.output import CommandError, UsageError, say
from ops.quality_judgments import Taken

if TYPE_CHECKING:
    from ops.deployment import Deployment

LEAST_COVERAGE = 99.9
EMPTY_SECONDS = 60.0
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Check:
    """What was found before a switch, and why it must not be: only --force switches then."""

    found: str = ""
    fault: str = ""
    documents: int = 0
    is_measured: bool = True


def check_answering(migration: Migration) -> Check:
    """Refuse a second switch; say if nobody knows which target answers."""
    try:
        answering = migration.answering()
    except _errors() as error:
        return Check(fault=str(error))
    if answering is migration.new:
        raise UsageError(
            f"searches of {migration.old.name} are answered by {migration.new.name} already"
        )
    return Check()


def check_coverage(migration: Migration, least: float) -> Check:
    """Compare what both indexes hold."""
    try:
        coverage = migration.coverage()
    except _errors() as error:
        if isinstance(error, LostIndexError) and error.target is migration.new:
            raise CommandError(
                f"not switched: {error}. No search can be answered by it, not by --force either:"
                f" fill it first, {LOST_INDEX}"
            ) from error
        return Check("coverage not measured", f"coverage not measured: {error}", is_measured=False)
    missing = (
        f"{coverage.missing:,} of {coverage.documents:,} documents are missing in"
        f" {migration.new.name}: coverage {coverage.percent:.2f} %, at least {least:g} % is asked"
        " for"
    )
    fault = missing if coverage.percent < least else ""
    return Check(f"coverage {coverage.percent:.2f} %", fault, coverage.documents)


def check_quality(
    migration: Migration,
    *,
    most_loss: float,
    questions: int,
    taken: Taken,
    wait: Callable[[float], None],
) -> Check:
    """Ask both targets; say and keep what was found."""
    try:
        gate = measured(migration, questions=questions, taken=taken, wait=wait)
    except _errors() as error:
        return Check("quality not measured", f"quality not measured: {error}", is_measured=False)
    if gate is None:
        return Check("no documents to compare", is_measured=False)
    GateStore(migration).write(gate.model_dump_json())
    for line in gate.view():
        say(line)
    fault = _loss(migration, gate, most_loss) if gate.difference.mean < -most_loss else ""
    return Check(gate.summary, fault)


def _loss(migration: Migration, gate: GateResult, most_loss: float) -> str:
    lower = (
        f"nDCG@10 (1 = every document found first) is lower by {-gate.difference.mean:.3f}, and at"
        f" most {most_loss:g} is allowed"
    )
    if not gate.different:
        return lower
    command, new = migration.command, migration.new.name
    return (
        f"{lower}; {gate.different} of the documents have failed in {new}, or were lost there:"
        f" `{command('dead', 'causes')}` and `{command('verify', '--target', new)}` name them"
    )


def open_work(
    migration: Migration, wait: Callable[[float], None], clock: Callable[[], float]
) -> tuple[list[str], LostIndexError | None]:
    """Name what is in the way of the end, and the old index if it is lost.

    Live writes pass through both targets: a moment without any on its way is waited for.
    """
    deadline, began_ms = clock() + EMPTY_SECONDS, round(time.time() * 1000)
    while True:
        passing, lost = _passing(migration, began_ms)
        lasting = _lasting(migration, is_old_lost=lost is not None)
        if lasting or not passing or clock() > deadline:
            return [*lasting, *passing], lost
        wait(LOOK_SECONDS)


def _passing(migration: Migration, began_ms: int) -> tuple[list[str], LostIndexError | None]:
    """Name what live writes leave open for a moment; nothing can end in an index that is lost."""
    try:
        found = [*_uncovered(migration), *_on_their_way(migration, began_ms), *_in_lanes(migration)]
        return found, None
    except LostIndexError as error:
        if error.target is migration.new:
            raise
        return [], error


def _uncovered(migration: Migration) -> list[str]:
    new, coverage = migration.new.name, migration.coverage()
    if coverage.percent >= LEAST_COVERAGE:
        return []
    fill = migration.command("migrate", "start", "--reason", "...")
    return [
        f"{coverage.missing:,} of {coverage.documents:,} documents are missing in {new}: wait until"
        f" its lanes are empty, or send them with `{fill}`"
    ]


def _on_their_way(migration: Migration, began_ms: int) -> list[str]:
    """Name what the new index still holds as it was; coverage counts entries, not what they hold.

    What is written after the check has begun is not waited for.
    """
    deployment, new = migration.deployment, migration.new.name
    listed = [
        *deployment.listed([Group.OPEN], due_ms=began_ms),
        *deployment.listed([Group.PARKED]),
    ]
    waiting = sum(one.target == new for one in listed)
    if not waiting:
        return []
    look = migration.command("stats", "--target", new)
    return [f"{waiting:,} documents are on their way to {new}: `{look}` shows how fast"]


def _in_lanes(migration: Migration) -> list[str]:
    deployment, old = migration.deployment, migration.old.name
    waiting = {lane: sum(deployment.depth(url)) for lane, url in deployment.queues[old].items()}
    return [
        f"{number} messages in the lane {lane} of {old}"
        for lane, number in waiting.items()
        if number
    ]


def _lasting(migration: Migration, *, is_old_lost: bool) -> list[str]:
    """Name what stays as it is until somebody does something, or a budget has room."""
    deployment, old, new = migration.deployment, migration.old.name, migration.new.name
    found = [*unended(deployment, new), *unended(deployment, old)]
    if failed := failing(migration, is_old_lost=is_old_lost):
        causes = migration.command("dead", "causes")
        found.append(f"{failed:,} documents fail in {new} alone: `{causes}` says why")
    if waiting := over_budget(deployment, new):
        budget = deployment.command("budget")
        found.append(
            f"{waiting:,} documents of {new} wait for its budget: `{budget}` shows until when"
        )
    # Those of a lost index fail until it is made anew.
    if not is_old_lost and (dead := deployment.count_dead_letters(old)):
        look = deployment.command("dead", "list")
        found.append(f"{dead} dead letters of {old}: `{look}` shows them")
    return found


def unended(deployment: "Deployment", target: str) -> list[str]:
    """Name the backfills of a target that have not ended, and what ends them."""

    def said(job: str, state: JobState) -> str:
        cancel = deployment.command("jobs", "cancel", job)
        on = (
            f"`{deployment.command('jobs')}` shows how far it is"
            if state is JobState.RUNNING
            else f"`{deployment.command('jobs', 'resume', job)}` lets it go on"
        )
        return f"the backfill {job} of {target} is {state}: {on}, `{cancel}` ends it"

    return [
        said(job.id, job.state)
        for job in jobs_of(deployment).listed()
        if job.target == target and not job.state.has_ended
    ]


def failing(migration: Migration, *, is_old_lost: bool = False) -> int:
    """Count the documents that fail in the new target, now or for good, and not in the old one.

    In a lost index all fail.
    """
    old, new = migration.old.name, migration.new.name
    found: dict[str, set[tuple[str, str]]] = {old: set(), new: set()}
    for one in migration.deployment.listed([Group.HEALING, Group.FAILED]):
        if one.target in found and one.status.is_failed:
            found[one.target].add((one.source, one.document))
    return len(found[new] if is_old_lost else found[new] - found[old])


def over_budget(deployment: "Deployment", target: str) -> int:
    """Count the documents that wait until a target may spend again."""
    return sum(one.target == target for one in deployment.listed([Group.OVER_BUDGET]))


def _errors() -> tuple[type[Exception], ...]:
    """Return what a measure may raise; the clients of AWS are loaded by then."""
    from ops.deployment import STACK_ERRORS

    return (*STACK_ERRORS, CommandError)
