"""What the commands of a migration answer."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

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
    answered_by: str  # the target; empty: neither
    reuses_vectors: bool
    documents: int
    covered: int
    coverage_percent: float
    unanswered: str = ""  # why neither answers
    not_measured: str = ""  # why there is no coverage
    lanes: TargetLanes
    over_budget: int = 0  # documents that wait until the new target may spend again
    failing: int = 0  # in the new target, and not in the old one
    jobs: tuple[JobStatus, ...]
    gate: GateResult | None
    next: str

    def view(self) -> Iterable[Any]:
        answered = f"searches of {self.replaces} are answered by {self.answered_by}"
        return [
            f"{self.target} replaces {self.replaces}; {self.unanswered or answered}",
            self._coverage,
            *(line for job in self.jobs for line in job.view()),
            *self.lanes.view(),
            *([f"{self.over_budget:,} documents wait for the budget"] if self.over_budget else []),
            *([f"{self.failing:,} documents fail in {self.target} alone"] if self.failing else []),
            *(["no gate has run yet"] if self.gate is None else self.gate.view()),
            f"next: {self.next}",
        ]

    @property
    def _coverage(self) -> str:
        if self.not_measured:
            return f"coverage not measured: {self.not_measured}"
        return (
            f"coverage {self.coverage_percent:.2f} %: of {self.documents:,} documents that can be"
            f" found in {self.replaces}, {self.documents - self.covered:,} are not in"
            f" {self.target} yet"
        )


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
    not_checked: str = ""  # and why

    def view(self) -> Iterable[str]:
        lines = [f"  {number}. {step}" for number, step in enumerate(self.steps, start=1)]
        not_checked = [f"not checked: {self.not_checked}"] if self.not_checked else []
        return [
            f"nothing of {self.replaced} is needed any more; to remove it:",
            *lines,
            *not_checked,
        ]


def removal_steps(migration: "Migration", *, is_lost: bool = False) -> Iterable[str]:
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
    if not is_lost:
        kept = first_index(old.index)
        yield f"the index {kept} stays: DELETE it in OpenSearch once nobody wants to go back"
