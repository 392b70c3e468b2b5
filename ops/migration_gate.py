"""The gate before a switch: the same questions to both targets, drawn from the table itself."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from functions.backfill.compare import ROUND_DOCUMENTS, SETTLE_SECONDS, Compare
from functions.core.batches import batches
from functions.core.document import Document
from functions.core.identity import DocumentId, row_key
from functions.core.names import first_index
from functions.core.search import Mode
from functions.core.verification import Pair, Sighting
from ops.migration import reading
from ops.migration_questions import Looks, State, state_of
from ops.output import Answer, CommandError, written
from ops.quality import Interval, Judgment, check_measures, ndcg_difference, overlap, quality
from ops.quality_judgments import TAKEN, Taken, drawn
from ops.quality_runs import found_by
from ops.verification import comparison

if TYPE_CHECKING:
    from functions.core.settings import TargetSettings
    from ops.migration import Migration

SEED = 1
# By meaning alone: words would hide the difference between two models.
MODE: Mode = "knn"
# With fewer questions left than this share, nothing is said about the targets.
LEAST_LEFT = 0.5
# A document has to hold still from the look before them to the one after: for seconds.
QUESTIONS_AT_ONCE = 10
REASONS = {
    State.ON_ITS_WAY: "on their way to an index",
    State.CHANGED: "edited meanwhile",
    State.DIFFERENT: "failed in the old target, or lost there",
}


class GateResult(Answer):
    """How both targets found the documents that the questions were taken from."""

    at: datetime
    questions: int
    left_out: int = 0  # For any of these reasons.
    on_their_way: int = 0
    edited: int = 0  # since they were drawn, or emptied or deleted
    different_in_old: int = 0  # The old index lacks what the table holds, for good.
    different: int = 0  # Of those asked: the new index lacks what the table holds, for good.
    old_ndcg_at_10: Interval
    new_ndcg_at_10: Interval
    difference: Interval
    overlap_at_10: Interval

    @property
    def summary(self) -> str:
        return (
            f"nDCG@10 {self.old_ndcg_at_10.mean:.3f} -> {self.new_ndcg_at_10.mean:.3f},"
            f" overlap@10 {self.overlap_at_10.mean:.3f}"
        )

    def view(self) -> Iterable[str]:
        reasons = _reasons(
            {
                State.ON_ITS_WAY: self.on_their_way,
                State.CHANGED: self.edited,
                State.DIFFERENT: self.different_in_old,
            }
        )
        out = f" ({self.left_out} left out: {reasons})" if self.left_out else ""
        lost = (
            f"  {self.different} of them about documents that have failed in the new target, or"
            " were lost there"
        )
        return [
            f"gate of {written(self.at)}, {self.questions} questions taken from the table{out}:",
            *([lost] if self.different else []),
            f"  nDCG@10 old {self.old_ndcg_at_10}, new {self.new_ndcg_at_10}",
            f"  difference {self.difference}",
            f"  overlap@10 {self.overlap_at_10}: the share of the first ten that both found",
        ]


@dataclass(frozen=True)
class Origin:
    """Where the document of a question is, and what it was when it was drawn."""

    source: str
    name: DocumentId
    document: Document


def measured(
    migration: "Migration",
    *,
    questions: int,
    taken: Taken,
    wait: Callable[[float], None] = time.sleep,
) -> GateResult | None:
    """Ask both targets questions that documents of the table must answer; None: it has none."""
    check_measures()
    origins, asked = _drawn(migration, questions, taken)
    if not origins:
        return None
    if not asked:
        raise CommandError(
            f"no document gives a question by its {taken}: --taken is one of {', '.join(TAKEN)}"
        )
    looks = Looks(migration.old.name)

    def look(judgments: Sequence[Judgment]) -> None:
        names = {name: origins[name] for one in judgments for name in one.relevant}
        for target in (migration.old, migration.new):
            with reading(target):
                _look(migration, target, names, looks)

    runs: tuple[dict[str, Sequence[str]], ...] = ({}, {})
    for part in batches(asked, QUESTIONS_AT_ONCE):
        look(part)
        _check_enough(migration, looks, asked)
        settled = looks.counting(part)
        for run, target in zip(runs, (migration.old, migration.new), strict=True):
            own = first_index(target.index)
            run |= found_by(
                migration.deployment, settled, target=target.name, mode=MODE, index=own
            ).run
        look(settled)
    if doubtful := looks.different(looks.counting(asked)):
        # A write may not have reached the ledger yet.
        wait(SETTLE_SECONDS)
        look(doubtful)
    _check_enough(migration, looks, asked)
    left, out = looks.counting(asked), looks.left_out(asked)
    before, after = ({one.id: run[one.id] for one in left} for run in runs)
    return GateResult(
        at=datetime.now(UTC),
        questions=len(left),
        left_out=out.total(),
        on_their_way=out[State.ON_ITS_WAY],
        edited=out[State.CHANGED],
        different_in_old=out[State.DIFFERENT],
        different=len(looks.different(left)),
        old_ndcg_at_10=quality(left, before).ndcg_at_10,
        new_ndcg_at_10=quality(left, after).ndcg_at_10,
        difference=ndcg_difference(left, before, after),
        overlap_at_10=overlap(before, after),
    )


def _drawn(
    migration: "Migration", questions: int, taken: Taken
) -> tuple[dict[str, Origin], list[Judgment]]:
    """Draw from every source; one that is empty, or gives no question, leaves it to the others."""
    from functions.adapters.dynamodb_table import DynamoDbTable

    table = DynamoDbTable(migration.deployment.dynamodb)
    share = -(-questions // len(migration.sources))
    origins: dict[str, Origin] = {}
    judgments: list[Judgment] = []
    for source in migration.sources:
        settings = migration.deployment.sources[source]
        found = drawn(table, settings, most=share, taken=taken, seed=SEED)
        origins |= {
            f"{source}/{name}": Origin(source, DocumentId(name), document)
            for name, document in found.documents.items()
        }
        judgments += [
            replace(
                one,
                id=f"{source}/{one.id}",
                relevant={f"{source}/{name}": grade for name, grade in one.relevant.items()},
            )
            for one in found.judgments
        ]
    return origins, judgments


def _look(
    migration: "Migration", target: "TargetSettings", origins: Mapping[str, Origin], looks: Looks
) -> None:
    """Note what table, index and ledger say of documents in one target."""
    for source in migration.sources:
        mine = {one.name: key for key, one in origins.items() if one.source == source}
        compare = comparison(
            migration.deployment, Pair(migration.deployment.sources[source], target)
        )
        for seen in _sightings(compare, list(mine)):
            key = mine[seen.document_id]
            looks.add(target.name, key, state_of(seen, compare.pair, origins[key].document))
        # What was seen to be there is found from now on.
        compare.index.refresh()


def _sightings(compare: Compare, names: Sequence[DocumentId]) -> Iterator[Sighting]:
    target, source = compare.pair.target.name, compare.pair.source
    for part in batches(names, ROUND_DOCUMENTS):
        # The row first: what is closed there is in the index by now.
        rows = compare.ledger.read([row_key(target, source.name, name) for name in part])
        known = {row.task.document_id: row for row in rows.values()}
        items = compare.table.read(source, part)
        yield from compare.with_entries(
            [
                Sighting(name, items[name].item if name in items else None, row=known.get(name))
                for name in part
            ]
        )


def _check_enough(migration: "Migration", looks: Looks, asked: Sequence[Judgment]) -> None:
    """Refuse once too many questions are left out, before more of them are paid."""
    out = looks.left_out(asked)
    if out.total() <= (1 - LEAST_LEFT) * len(asked):
        return
    causes = migration.deployment.command("dead", "causes")
    raise CommandError(
        f"{out.total()} of {len(asked)} questions are left out, by their documents:"
        f" {_reasons(out)}. Wait until the lanes are empty, or for a time with fewer edits; if they"
        f" stay as they are, `{causes}` says what fails"
    )


def _reasons(out: Mapping[State, int]) -> str:
    return ", ".join(f"{out[one]} {said}" for one, said in REASONS.items() if out.get(one))
