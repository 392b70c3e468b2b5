"""What the commands of a migration answer, and what they say is next."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from functions.core.backfill_job import JobState
from functions.core.names import first_index
from ops.jobs import JobStatus
from ops.lanes import TargetLanes
from ops.migration_gate import GateResult
from ops.output import Answer

if TYPE_CHECKING:
    from ops.migration import Migration


class Started(Answer):
    """The backfills that fill a new target, one for each source."""

    target: str
    replaces: str
    jobs: tuple[JobStatus, ...]

    def view(self) -> Iterable[str]:
        return [line for job in self.jobs for line in job.view()]


class MigrationStatus(Answer):
    """How far a migration is, and what is next."""

    target: str
    replaces: str
    answered_by: str
    reuses_vectors: bool
    documents: int
    covered: int
    coverage_percent: float
    lanes: TargetLanes
    jobs: tuple[JobStatus, ...]
    gate: GateResult | None
    next: str

    def view(self) -> Iterable[Any]:
        missing = self.documents - self.covered
        return [
            f"{self.target} replaces {self.replaces}; searches of {self.replaces} are answered by"
            f" {self.answered_by}",
            f"coverage {self.coverage_percent:.2f} %: of {self.documents:,} documents that can be"
            f" found in {self.replaces}, {missing:,} are not in {self.target} yet",
            *(line for job in self.jobs for line in job.view()),
            *self.lanes.view(),
            *(["no gate has run yet"] if self.gate is None else self.gate.view()),
            f"next: {self.next}",
        ]


class Switched(Answer):
    """Which index answers now, and which did before."""

    target: str
    answered_by: str
    index: str
    before: str

    def view(self) -> Iterable[str]:
        return [
            f"searches of {self.target} are answered by {self.answered_by}: the index"
            f" {self.index}, before it {self.before}"
        ]


class Finished(Answer):
    """What is to be removed after a migration."""

    target: str
    replaced: str
    steps: tuple[str, ...]

    def view(self) -> Iterable[str]:
        lines = [f"  {number}. {step}" for number, step in enumerate(self.steps, start=1)]
        return [f"nothing of {self.replaced} is needed any more; to remove it:", *lines]


def next_step(
    *,
    is_switched: bool,
    is_covered: bool,
    jobs: Iterable[JobStatus],
    dead_letters: int,
    command: Callable[..., str],
) -> str:
    """Say what an operator does next."""
    known = list(jobs)
    migrate = "migrate"
    if is_switched:
        return f"`{command(migrate, 'finish')}`, or back with `{command(migrate, 'rollback')}`"
    if any(job.state is JobState.RUNNING for job in known):
        return f"wait: `{command('jobs')}` shows how far the backfill is"
    if is_covered:
        return f"`{command(migrate, 'switch', '--reason', '...')}`: it asks both targets first"
    if not known:
        return f"`{command(migrate, 'start', '--reason', '...')}`: it estimates the cost first"
    if dead_letters:
        return f"look at the dead letters: `{command('dead', 'causes')}`"
    return f"wait until the lanes are empty, or `{command(migrate, 'start', '--reason', '...')}`"


def removal_steps(migration: "Migration") -> Iterable[str]:
    """Say what to do when a migration is over, in its order."""
    deployment, old, new = migration.deployment, migration.old, migration.new
    stage = f"stages.{deployment.outputs['Stage']}"
    yield f"let applications that name the target {old.name} name {new.name}, or none"
    yield f"delete {stage}.targets.{old.name} from cdk.json"
    for source in migration.sources:
        yield f'delete "{old.name}" from {stage}.sources.{source}.targets'
    yield f"delete {stage}.targets.{new.name}.replaces"
    if deployment.stage:
        yield f"make deploy STAGE={deployment.stage}"
    else:
        yield "embedq down, and embedq up with the name of the stage"
    yield deployment.command("forget", "--target", old.name)
    kept = first_index(old.index)
    yield f"the index {kept} stays: DELETE it in OpenSearch once nobody wants to go back"
