"""`embedq eval`: which ways are asked, what is told, and what is refused."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from functions.adapters.dynamodb_values import to_dynamodb
from ops.deployment import Deployment
from ops.evaluation import EXACT_DOCUMENTS, evaluate
from ops.output import CommandError, UsageError, as_text
from tests.builders import make_source, make_target
from tests.unit.ops.searches import Index, Searches, asked_with


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "judgments.jsonl"
    made.write_text('{"query": "one", "relevant": ["1"]}\n{"query": "two", "relevant": ["2"]}\n')
    return made


def best_with_more_meaning(asked: dict[str, Any]) -> list[str]:
    right = {"one": "1", "two": "2"}[asked["query"]]
    is_first = asked["mode"] == "knn" or (asked["mode"] == "hybrid" and asked["weight"] > 0.5)
    return [right, "x"] if is_first else ["x", right]


def test_every_way_is_measured_on_the_same_questions(deployment: Deployment, file: Path) -> None:
    """R52: k-NN, text, and hybrid with several weights; only documents of the source."""
    searches = Searches(best_with_more_meaning)

    found = evaluate(asked_with(deployment, searches), judgments=file)

    measured = {(one.mode, one.weight): one.quality.mrr_at_10.mean for one in found.measured}
    assert measured == {
        ("knn", None): 1.0,
        ("text", None): 0.5,
        ("hybrid", 0.3): 0.5,
        ("hybrid", 0.5): 0.5,
        ("hybrid", 0.7): 1.0,
    }
    assert len(searches.asked) == 5 * 2
    assert {tuple(asked["sources"]) for asked in searches.asked} == {("articles",)}
    assert found.best_weight == 0.7
    assert "weight 0.7 is better than 0.5 by 0.369 (0.369 to 0.369)" in as_text(found)


def test_weight_that_is_not_surely_better_is_not_advised(
    deployment: Deployment, file: Path
) -> None:
    """R52: chance alone makes one of several the best."""
    searches = Searches(lambda asked: [{"one": "1", "two": "2"}[asked["query"]]])

    found = evaluate(asked_with(deployment, searches), judgments=file)

    assert "no weight is surely better than the usual 0.5" in as_text(found)


def test_questions_are_drawn_from_the_table(deployment: Deployment) -> None:
    """R52: a title, a sentence or some words of it; said where they come from."""
    for name in ("a", "b"):
        body = f"This is the only long sentence of document {name}."
        item = to_dynamodb({"id": name, "title": "T", "body": body})
        deployment.dynamodb.put_item(TableName=make_source().table, Item=item)
    searches = Searches(lambda asked: [asked["query"].rstrip(".").split()[-1]])

    found = evaluate(asked_with(deployment, searches), take="sentence", weights=[0.5])

    assert found.questions == 2
    assert found.measured[0].quality.ndcg_at_10.mean == 1
    assert found.judgments.startswith("a sentence of a document of table")
    assert found.best_weight is None


def test_ids_of_another_table_are_noticed(deployment: Deployment, file: Path) -> None:
    """R52: zeros alone would be taken for a bad model."""
    found = evaluate(asked_with(deployment, Searches(lambda _: ["x"])), judgments=file)

    assert found.notes[0].startswith("no search found a relevant document: are the ids")


def test_provider_that_is_down_is_an_error(deployment: Deployment, file: Path) -> None:
    """R52: figures of text would pass for those of k-NN."""
    searches = Searches(lambda _: ["1"], {"knn": "by text alone: the provider failed"})

    with pytest.raises(CommandError, match="default did not answer by knn: by text alone: the"):
        evaluate(asked_with(deployment, searches), judgments=file)


def test_domain_without_hybrid_is_measured_by_its_halves(
    deployment: Deployment, file: Path
) -> None:
    """R52: and said."""
    searches = Searches(lambda _: ["1"], {"hybrid": "by meaning alone: needs OpenSearch 3.0"})

    found = evaluate(asked_with(deployment, searches), judgments=file)

    assert [one.mode for one in found.measured] == ["knn", "text"]
    assert found.notes == (
        "not measured: default did not answer by hybrid: by meaning alone: needs OpenSearch 3.0",
    )


@pytest.mark.parametrize(
    ("documents", "exact", "looks"),
    [(10, None, True), (10, 0, False), (EXACT_DOCUMENTS + 1, None, False)],
)
def test_exact_search_is_bounded(
    deployment: Deployment, file: Path, documents: int, exact: int | None, looks: bool
) -> None:
    """R52: it reads every vector, so a large index is compared only when that is asked for."""
    index = Index(documents)
    searches = Searches(lambda _: ["1", "2"])

    found = evaluate(asked_with(deployment, searches, index), judgments=file, exact=exact)

    assert ("_search" in index.asked) is looks
    assert any("ask with --exact" in note for note in found.notes) is (documents > EXACT_DOCUMENTS)


NEXT = make_target(name="next", index="next", replaces="default")


def during_a_migration(deployment: Deployment) -> Deployment:
    source = make_source(targets=("default", "next"))
    deployment.outputs["SourceArticlesSettings"] = source.model_dump_json()
    deployment.outputs["TargetNextSettings"] = NEXT.model_dump_json()
    return deployment


def test_index_that_answers_is_compared_with_the_exact_search(
    deployment: Deployment, file: Path
) -> None:
    """R44 R52: after the switch of a migration it is that of the new target; it is named."""
    index, searches = Index(10), Searches(lambda _: ["1", "2"])
    searches.index = lambda _: "next-1"

    found = evaluate(
        asked_with(during_a_migration(deployment), searches, index), judgments=file, weights=[0.5]
    )

    assert (found.target, found.index, index.indexes) == ("default", "next-1", {"next"})
    assert "answered by the index next-1" in as_text(found)


@pytest.mark.parametrize(
    "index",
    [
        lambda asked: "next-1" if asked["query"] == "two" else "articles-index-1",
        lambda asked: "next-1" if asked["mode"] == "hybrid" else "articles-index-1",
    ],
)
def test_figures_of_two_indexes_are_not_mixed(
    deployment: Deployment, file: Path, index: Callable[[dict[str, Any]], str]
) -> None:
    """R44 R52: an alias that is moved between two questions, or between two ways to ask."""
    searches = Searches(lambda _: ["1", "2"])
    searches.index = index

    with pytest.raises(CommandError, match="default was answered by the index next-1, and not by"):
        evaluate(asked_with(during_a_migration(deployment), searches), judgments=file)


def test_missing_package_is_said_before_anything_is_paid(
    deployment: Deployment, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R52: the wheel brings it only when it is asked for."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    searches = Searches(lambda _: ["1"])

    with pytest.raises(UsageError, match=r"pip install 'embedq\[eval\]'"):
        evaluate(asked_with(deployment, searches), judgments=file)

    assert searches.asked == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queries": Path("q")}, "--queries belongs to qrels"),
        ({"take": "title", "judgments": Path("j")}, "leave it or --judgments out"),
        ({"target": "other"}, "other is no target of this stack"),
    ],
)
def test_wrong_use_is_refused(
    deployment: Deployment, options: dict[str, Any], message: str
) -> None:
    """R52: before anything is asked."""
    searches = Searches(lambda _: [])

    with pytest.raises(UsageError, match=message):
        evaluate(asked_with(deployment, searches), **options)

    assert searches.asked == []
