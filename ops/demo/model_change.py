"""The demo's last step: a second target with another model, filled, compared and switched to."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from functions.adapters.providers import make_embedder
from functions.core.backfill_job import Estimate, Job, JobState, Only
from functions.core.errand import SegmentErrand
from functions.core.settings import SourceSettings, TargetSettings
from local.memory.index import MemoryIndex
from local.memory.pipeline import MemoryPipeline
from ops import migrating
from ops.demo.corpus import JUDGMENTS
from ops.deployment import Deployment
from ops.migration import Coverage, covered, migration_of
from ops.output import FOLLOWER, CommandError
from ops.proposal import Proposal, carry_out
from ops.quality import DEPTH, overlap, quality
from ops.quality_files import read_json_lines

NEW = "large"
MODEL = "text-embedding-3-large"
QUESTIONS = 20
REASON = "demo"
SEARCH_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class Compared:
    """What the same questions found with both models."""

    questions: int
    old_ndcg: float
    new_ndcg: float
    overlap: float


class ModelChange(ABC):
    """A second target beside the first, which answers all searches at the beginning."""

    @abstractmethod
    def refusal(self) -> str:
        """Try to switch too early; return why it is refused."""

    @abstractmethod
    def fill(self) -> None:
        """Start the backfill of the second target."""

    @abstractmethod
    def coverage(self) -> Coverage:
        """Return how much of the first target the second one has; let some time pass."""

    @abstractmethod
    def switch(self) -> Compared:
        """Ask both the same questions, and let the second one answer from now on."""

    @abstractmethod
    def roll_back(self) -> None:
        """Let the first one answer again."""

    @abstractmethod
    def ask(self, query: str) -> tuple[str, str]:
        """Search as an application does; return the document, and which target answered."""


class _Unheard:
    """Follows commands of `embedq migrate` whose own lines are not part of the demo."""

    def said(self, text: str) -> None:
        """Leave it out: the story says what matters."""

    def moved(self, what: str, done: int, total: int | None) -> None:
        """Leave it out: this takes seconds."""


class EngineModelChange(ModelChange):
    """By the commands of `embedq migrate`, on a stack that has the second target."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._migration = migration_of(deployment, NEW)

    def refusal(self) -> str:
        try:
            self._switch()
        except CommandError as error:
            return error.message.removesuffix(". --force switches all the same")
        return ""

    def fill(self) -> None:
        self._do(lambda: migrating.start(self._deployment, reason=REASON))

    def coverage(self) -> Coverage:
        jobs = migrating.status(self._deployment).jobs
        found = self._migration.coverage()
        has_ended = all(job.state is not JobState.RUNNING for job in jobs)
        return found if has_ended else Coverage(found.documents, 0)

    def switch(self) -> Compared:
        self._do(self._switch)
        gate = migrating.status(self._deployment).gate
        assert gate is not None
        return Compared(
            gate.questions,
            gate.old_ndcg_at_10.mean,
            gate.new_ndcg_at_10.mean,
            gate.overlap_at_10.mean,
        )

    def roll_back(self) -> None:
        self._do(lambda: migrating.rollback(self._deployment))

    def ask(self, query: str) -> tuple[str, str]:
        from ops import searching

        answer = searching.ask(self._deployment, query=query, mode="knn", size=1)
        return answer.results[0].document, self._migration.answering().name

    def _switch(self) -> Proposal[Any]:
        return migrating.switch(self._deployment, reason=REASON, questions=QUESTIONS)

    def _do(self, propose: Callable[[], Proposal[Any]]) -> None:
        token = FOLLOWER.set(_Unheard())
        try:
            carry_out(
                self._deployment, "migrate", propose(), reason=REASON, dry_run=False, yes=True
            )
        finally:
            FOLLOWER.reset(token)


class MemoryModelChange(ModelChange):
    """The same steps by hand: in memory there is no deployment whose commands could be used."""

    def __init__(self, before: MemoryPipeline, source: SourceSettings, old: TargetSettings) -> None:
        new = old.model_copy(
            update={"name": NEW, "index": NEW, "dimensions": 512, "replaces": old.name}
        )
        self._source = source.model_copy(update={"targets": (old.name, NEW)})
        self._old, self._answering = old.name, old.name
        self._embedders = {
            one.name: make_embedder(one, lambda _: "no key needed here") for one in (old, new)
        }
        self._pipeline = MemoryPipeline(
            [self._source],
            [old, new],
            embedders=self._embedders,
            indexes={old.name: before.indexes[old.name], NEW: MemoryIndex(new.dimensions)},
            ledger=before.ledger,
        )
        # The table stays; what it wrote to its stream before is not read again.
        self._pipeline.tables[source.name] = before.tables[source.name]
        self._pipeline.read[source.name] = len(before.tables[source.name].stream)

    def refusal(self) -> str:
        found = self._covered()
        return f"not switched: {found.missing} of {found.documents} documents are missing in {NEW}"

    def fill(self) -> None:
        job = Job(
            id=REASON,
            source=self._source.name,
            target=NEW,
            only=Only.MISSING,
            segments=1,
            by=REASON,
            reason=REASON,
            created_ms=self._pipeline.clock(),
            estimate=Estimate(items=0, documents=0, tokens=0),
        )
        self._pipeline.jobs.create(job)
        self._pipeline.errands.send(SegmentErrand(job.id, 0))

    def coverage(self) -> Coverage:
        self._pipeline.run_errands()
        self._pipeline.run_all()
        self._pipeline.clock.advance(1)
        return self._covered()

    def switch(self) -> Compared:
        known = read_json_lines(JUDGMENTS)
        judgments = known[:: len(known) // QUESTIONS]
        old, new = (
            {one.id: self._found(name, one.query, DEPTH) for one in judgments}
            for name in (self._old, NEW)
        )
        self._answering = NEW
        return Compared(
            len(judgments),
            quality(judgments, old).ndcg_at_10.mean,
            quality(judgments, new).ndcg_at_10.mean,
            overlap(old, new).mean,
        )

    def roll_back(self) -> None:
        self._answering = self._old

    def ask(self, query: str) -> tuple[str, str]:
        [found] = self._found(self._answering, query, 1)
        return found, self._answering

    def _found(self, target: str, query: str, most: int) -> list[str]:
        answer = self._embedders[target].embed([query], timeout_seconds=SEARCH_TIMEOUT_SECONDS)
        hits = self._pipeline.indexes[target].search(answer.vectors[0], most=most)
        return [hit.document_id for hit in hits]

    def _covered(self) -> Coverage:
        sums = [self._pipeline.indexes[name].sums(self._source.name) for name in (self._old, NEW)]
        return covered(*sums)
