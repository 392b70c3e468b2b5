"""The gate before a switch: the same questions to both targets, drawn from the table itself."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from functions.core.search import Mode
from ops import searching
from ops.output import Answer, progress, written
from ops.quality import DEPTH, Interval, Judgment, ndcg_difference, overlap, quality
from ops.quality_judgments import Taken, sampled
from ops.quality_runs import OtherModeError

if TYPE_CHECKING:
    from ops.migration import Migration
    from ops.quality import Run

SEED = 1
# By meaning alone: words would hide the difference between two models.
MODE: Mode = "knn"


class GateResult(Answer):
    """How both targets found the documents that the questions were taken from."""

    at: datetime
    questions: int
    old_ndcg_at_10: Interval
    new_ndcg_at_10: Interval
    difference: Interval
    overlap_at_10: Interval

    def view(self) -> Iterable[str]:
        return [
            f"gate of {written(self.at)}, {self.questions} questions taken from the table:",
            f"  nDCG@10 old {self.old_ndcg_at_10}, new {self.new_ndcg_at_10}",
            f"  difference {self.difference}",
            f"  overlap@10 {self.overlap_at_10}: the share of the first ten that both found",
        ]


def measured(migration: "Migration", *, questions: int, taken: Taken) -> GateResult:
    """Ask both targets questions that documents of the table must answer."""
    judgments = _judgments(migration, questions, taken)
    before = _run(migration, migration.old.name, judgments)
    after = _run(migration, migration.new.name, judgments)
    return GateResult(
        at=datetime.now(UTC),
        questions=len(judgments),
        old_ndcg_at_10=quality(judgments, before).ndcg_at_10,
        new_ndcg_at_10=quality(judgments, after).ndcg_at_10,
        difference=ndcg_difference(judgments, before, after),
        overlap_at_10=overlap(before, after),
    )


def _judgments(migration: "Migration", questions: int, taken: Taken) -> list[Judgment]:
    from functions.adapters.dynamodb_table import DynamoDbTable

    table = DynamoDbTable(migration.deployment.dynamodb)
    share = -(-questions // len(migration.sources))
    return [
        replace(
            one,
            id=f"{name}/{one.id}",
            relevant={f"{name}/{document}": grade for document, grade in one.relevant.items()},
        )
        for name in migration.sources
        for one in sampled(
            table, migration.deployment.sources[name], most=share, taken=taken, seed=SEED
        )
    ]


def _run(migration: "Migration", target: str, judgments: list[Judgment]) -> "Run":
    found = {}
    for one in progress(judgments, f"asking {target}"):
        answer = searching.ask(
            migration.deployment, query=one.query, target=target, mode=MODE, size=DEPTH
        )
        if answer.mode != MODE:
            # Words alone would find the same in both indexes.
            raise OtherModeError(f"{target} did not answer by {MODE}: {'; '.join(answer.notes)}")
        found[one.id] = [f"{result.source}/{result.document}" for result in answer.results]
    return found
