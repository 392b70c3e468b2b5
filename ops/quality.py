"""How good searches are: measures of what they found against what they should find. Pure.

Needs ir-measures, which the wheel brings as `embedq[eval]`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.core.frozen import Frozen
from ops.output import UsageError

if TYPE_CHECKING:
    from ir_measures import Measure

DEPTH = 10
RESAMPLES = 1000
MISSING = "measures need the package ir-measures: pip install 'embedq[eval]'"

# What each question found, the best first, by the question's id.
Run = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Judgment:
    """A question, and how relevant documents are to it: 1 or more; those not named are not."""

    id: str
    query: str
    relevant: Mapping[str, int]


class Interval(Frozen):
    """A mean over the questions, and between what it lies with 95 % confidence."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"


class Quality(Frozen):
    """Of the first ten results of each question."""

    ndcg_at_10: Interval
    recall_at_10: Interval
    mrr_at_10: Interval


def quality(judgments: Sequence[Judgment], run: Run) -> Quality:
    """Measure a run; a question without results counts as zero."""
    ndcg, recall, mrr = _values(judgments, run)
    return Quality(
        ndcg_at_10=interval(ndcg), recall_at_10=interval(recall), mrr_at_10=interval(mrr)
    )


def ndcg_difference(judgments: Sequence[Judgment], before: Run, after: Run) -> Interval:
    """Return by how much nDCG@10 changes, question by question: more certain than two intervals."""
    old, new = _values(judgments, before)[0], _values(judgments, after)[0]
    return interval([after_ - before_ for before_, after_ in zip(old, new, strict=True)])


def overlap(first: Run, second: Run) -> Interval:
    """Return which share of the first ten results two runs of the same questions have in common."""
    return interval([_share(first[name], second[name]) for name in first])


def interval(values: Sequence[float], *, seed: int = 7) -> Interval:
    """Return the mean with its bootstrap interval: the same values give the same bounds."""
    # Loaded only now: no other command needs it.
    import numpy as np

    given = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(seed)
    means = [random.choice(given, len(given)).mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, (0.025, 0.975))
    return Interval(mean=float(given.mean()), low=float(low), high=float(high))


def _values(judgments: Sequence[Judgment], run: Run) -> list[list[float]]:
    """Return nDCG@10, recall@10 and reciprocal rank of each question, in their order."""
    measures = _measures()
    from ir_measures import Qrel, ScoredDoc, iter_calc

    qrels = [
        Qrel(one.id, document, grade)
        for one in judgments
        for document, grade in one.relevant.items()
    ]
    # trec_eval goes by scores: those of the ranks keep the order of equal ones.
    found = [
        ScoredDoc(one.id, document, -float(rank))
        for one in judgments
        for rank, document in enumerate(run.get(one.id, ())[:DEPTH])
    ]
    values = {
        (str(one.measure), one.query_id): float(one.value)
        for one in iter_calc(measures, qrels, found)
    }
    return [[values[str(measure), one.id] for one in judgments] for measure in measures]


def check_measures() -> None:
    """Raise a UsageError if nothing can be measured here: before anything is asked and paid."""
    _measures()


def _measures() -> "list[Measure]":
    try:
        from ir_measures import RR, R, nDCG
    except ModuleNotFoundError:
        raise UsageError(MISSING) from None
    return [nDCG @ DEPTH, R @ DEPTH, RR @ DEPTH]


def _share(first: Sequence[str], second: Sequence[str]) -> float:
    ours, theirs = set(first[:DEPTH]), set(second[:DEPTH])
    # Two empty answers agree.
    return len(ours & theirs) / max(len(ours), len(theirs)) if ours or theirs else 1.0
