"""How good is search on the user's own documents: by meaning, by words, and by both."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from functions.core.names import first_index
from functions.core.search import Mode
from ops.frame import SOURCE, TARGET, Noun
from ops.index_recall import index_recall
from ops.numbers import Amount, Count
from ops.output import Answer, CommandError, UsageError, say, table
from ops.quality import Interval, Judgment, Quality, Run, check_measures, ndcg_difference, quality
from ops.quality_files import read_json_lines, read_trec
from ops.quality_judgments import TAKEN, Taken, sampled
from ops.quality_runs import OtherModeError, found_by

if TYPE_CHECKING:
    from functions.core.settings import SourceSettings
    from ops.deployment import Deployment

NOUN = Noun("Documents")
USUAL_WEIGHT = 0.5
WEIGHTS = (0.3, USUAL_WEIGHT, 0.7)
# An exact search reads every vector. Above so many documents only who asks for it gets it.
EXACT_DOCUMENTS = 100_000
EXACT_QUESTIONS = 20


class Measured(Answer):
    """One way to search; the weight is that of the meaning."""

    mode: Mode
    weight: float | None = None
    quality: Quality

    @property
    def name(self) -> str:
        return self.mode if self.weight is None else f"{self.mode}, weight {self.weight:g}"

    @property
    def ndcg(self) -> float:
        return self.quality.ndcg_at_10.mean


class Evaluated(Answer):
    """How good each way to search is, on the same questions."""

    source: str
    target: str
    index: str = ""  # that answered: during a migration also that of the other target
    judgments: str  # where the questions come from
    questions: int
    measured: tuple[Measured, ...]
    best_weight: float | None = None
    # By how much nDCG@10 of the best weight is above that of the usual one.
    gain: Interval | None = None
    index_recall: Interval | None = None  # of the ten nearest, against an exact search
    notes: tuple[str, ...] = ()

    def view(self) -> Iterable[Any]:
        rows = [
            (one.name, one.quality.ndcg_at_10, one.quality.recall_at_10, one.quality.mrr_at_10)
            for one in self.measured
        ]
        return [
            f"{self.questions} questions: {self.judgments}",
            f"answered by the index {self.index}",
            "",
            table(["search", "nDCG@10", "recall@10", "MRR@10"], rows),
            "",
            *self._advice(),
            *([f"index against exact search: recall@10 {self.index_recall}"] * self.is_exact),
            *self.notes,
        ]

    @property
    def is_exact(self) -> bool:
        return self.index_recall is not None

    def _advice(self) -> list[str]:
        if self.best_weight is None or self.gain is None:
            return []
        if self.best_weight == USUAL_WEIGHT or self.gain.low <= 0:
            return [f"no weight is surely better than the usual {USUAL_WEIGHT:g}"]
        return [f"weight {self.best_weight:g} is better than {USUAL_WEIGHT:g} by {self.gain}"]


@NOUN.stack_command(
    click.Option(
        ["--judgments"],
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Questions with their documents: JSON lines, or qrels of TREC with --queries.",
    ),
    click.Option(
        ["--queries"],
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="The queries of the qrels: an id, a tab and the text on each line.",
    ),
    click.Option(
        ["--take"],
        type=click.Choice(TAKEN),
        help="Without a file: what is taken out of a document of the table and must find it"
        " (sentence).",
    ),
    click.Option(
        ["--most"],
        type=Count(1, 1000),
        default=100,
        show_default=True,
        help="How many questions are drawn from the table.",
    ),
    click.Option(
        ["--seed"],
        type=Count(min=0),
        default=7,
        show_default=True,
        help="Another one draws others.",
    ),
    click.Option(
        ["weights", "--weight"],
        type=Amount(0, 1),
        multiple=True,
        help="A weight of the meaning in hybrid; several are compared (0.3, 0.5, 0.7).",
    ),
    click.Option(
        ["--exact"],
        type=Count(0, 1000),
        help="How many questions compare the index with a search that looks at every vector"
        f" ({EXACT_QUESTIONS} up to {EXACT_DOCUMENTS:,} documents, else 0).",
    ),
    SOURCE,
    TARGET,
    name="eval",
    examples=[
        "eval",
        "eval --take title --most 300 --stage prod --json",
        "eval --judgments judgments.jsonl --weight 0.5 --weight 0.6 --weight 0.7",
        "eval --judgments qrels.txt --queries queries.tsv --exact 0",
    ],
)
def evaluate(
    deployment: "Deployment",
    *,
    judgments: Path | None = None,
    queries: Path | None = None,
    take: Taken | None = None,
    most: int = 100,
    seed: int = 7,
    weights: Sequence[float] = (),
    exact: int | None = None,
    source: str | None = None,
    target: str | None = None,
) -> Evaluated:
    """Measure how good search is, on your own documents and questions.

    Each question is paid once, as that of an application.
    """
    check_measures()
    origin, goal = deployment.pair(source, target)
    judged, where = _judgments(deployment, origin, judgments, queries, take, most, seed)
    say(f"asking {len(judged)} questions, each in {2 + len(weights or WEIGHTS)} ways")
    runs, index, notes = _runs(deployment, judged, origin.name, goal.name, weights or WEIGHTS)
    if not any(set(one.relevant) & set(run[one.id]) for run in runs.values() for one in judged):
        notes.append(
            "no search found a relevant document: are the ids those of the table, and is it"
            " indexed? A composite key is PARTITION|SORT"
        )
    best, gain = _best(judged, runs)
    owner = _owner(deployment, index)
    recall, more = _index_recall(deployment, origin.name, owner, exact, seed)
    return Evaluated(
        source=origin.name,
        target=goal.name,
        index=index,
        judgments=where,
        questions=len(judged),
        measured=tuple(
            Measured(mode=mode, weight=weight, quality=quality(judged, run))
            for (mode, weight), run in runs.items()
        ),
        best_weight=best,
        gain=gain,
        index_recall=recall,
        notes=(*notes, *more),
    )


def _judgments(
    deployment: "Deployment",
    origin: "SourceSettings",
    file: Path | None,
    queries: Path | None,
    take: Taken | None,
    most: int,
    seed: int,
) -> tuple[list[Judgment], str]:
    """Return the questions, and where they come from."""
    if file is not None:
        if take:
            raise UsageError("--take draws questions from the table: leave it or --judgments out")
        judged = read_trec(file, queries) if queries else read_json_lines(file)
        return judged, f"judgments of {file}"
    if queries is not None:
        raise UsageError("--queries belongs to qrels: name them with --judgments")
    from functions.adapters.dynamodb_table import DynamoDbTable

    taken = take or "sentence"
    table_ = DynamoDbTable(deployment.dynamodb)
    judged = sampled(table_, origin, most=most, taken=taken, seed=seed)
    what = "some words of a sentence" if taken == "words" else f"a {taken}"
    return judged, f"{what} of a document of table {origin.table} must find it"


Way = tuple[Mode, float | None]


def _runs(
    deployment: "Deployment",
    judged: Sequence[Judgment],
    source: str,
    target: str,
    weights: Sequence[float],
) -> tuple[dict[Way, Run], str, list[str]]:
    """Ask in each way, one index alone, which is returned.

    A domain before OpenSearch 3.0 has no hybrid search, and that is noted.
    """
    index = ""

    def found(mode: Mode, weight: float | None = None) -> Run:
        nonlocal index
        share = USUAL_WEIGHT if weight is None else weight
        answered = found_by(
            deployment, judged, source=source, target=target, mode=mode, weight=share, index=index
        )
        index = answered.index
        return answered.run

    runs: dict[Way, Run] = {("knn", None): found("knn"), ("text", None): found("text")}
    try:
        for weight in sorted(set(weights)):
            runs["hybrid", weight] = found("hybrid", weight)
    except OtherModeError as error:
        return runs, index, [f"not measured: {error.message}"]
    return runs, index, []


def _owner(deployment: "Deployment", index: str) -> str:
    """Name the target that fills the index which answered."""
    for one in deployment.targets.values():
        if first_index(one.index) == index:
            return one.name
    raise CommandError(f"no target of this stage fills the index {index}, which answered")


def _best(
    judged: Sequence[Judgment], runs: Mapping[Way, Run]
) -> tuple[float | None, Interval | None]:
    """Return the best weight of hybrid, and how much better it is than the usual one."""
    hybrid = {weight: run for (mode, weight), run in runs.items() if mode == "hybrid"}
    if len(hybrid) < 2 or USUAL_WEIGHT not in hybrid:
        return None, None
    usual = hybrid[USUAL_WEIGHT]
    gains = {weight: ndcg_difference(judged, usual, run) for weight, run in hybrid.items()}
    best = max(gains, key=lambda weight: gains[weight].mean)
    return best, gains[best]


def _index_recall(
    deployment: "Deployment", source: str, target: str, exact: int | None, seed: int
) -> tuple[Interval | None, list[str]]:
    documents = deployment.count_searchable(target, source)
    if exact is None and documents > EXACT_DOCUMENTS:
        return None, [f"{documents:,} documents: an exact search looks at all; ask with --exact"]
    questions = EXACT_QUESTIONS if exact is None else exact
    if not questions:
        return None, []
    recall = index_recall(deployment, source=source, target=target, questions=questions, seed=seed)
    return recall, []
