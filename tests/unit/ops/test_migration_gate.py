"""The gate of a migration: both targets answer the same questions by meaning."""

from types import SimpleNamespace
from typing import Any

import pytest

from functions.adapters.dynamodb_values import to_dynamodb
from ops.deployment import Deployment
from ops.migration_gate import GateResult, measured
from ops.output import CommandError
from tests.builders import make_source, make_target
from tests.unit.ops.searches import Searches, asked_with


def gate(deployment: Deployment, searches: Searches) -> GateResult:
    for name in ("a", "b"):
        body = f"This is the only long sentence of document {name}."
        item = to_dynamodb({"id": name, "title": "T", "body": body})
        deployment.dynamodb.put_item(TableName=make_source().table, Item=item)
    old, new = make_target(name="old"), make_target(name="new")
    deployment.outputs["TargetOldSettings"] = old.model_dump_json()
    deployment.outputs["TargetNewSettings"] = new.model_dump_json()
    migration: Any = SimpleNamespace(
        deployment=asked_with(deployment, searches), sources=["articles"], old=old, new=new
    )
    return measured(migration, questions=10, taken="sentence")


def last_word(asked: dict[str, Any]) -> str:
    return str(asked["query"]).rstrip(".").split()[-1]


def test_both_targets_answer_the_same_questions(deployment: Deployment) -> None:
    """R44 R52: the new one finds the document second: a worse nDCG, the same documents."""
    order = {"old": ["{}", "x"], "new": ["x", "{}"]}
    searches = Searches(
        lambda asked: [one.format(last_word(asked)) for one in order[asked["target"]]]
    )

    found = gate(deployment, searches)

    assert found.questions == 2
    assert found.old_ndcg_at_10.mean == 1
    assert found.difference.mean == pytest.approx(-0.369, abs=0.001)
    assert found.overlap_at_10.mean == 1


def test_answers_by_words_alone_pass_no_gate(deployment: Deployment) -> None:
    """R52: while a provider is down both would find the same, whatever the model."""
    searches = Searches(lambda asked: [last_word(asked)], notes={"knn": "the provider is down"})

    with pytest.raises(CommandError, match="old did not answer by knn: the provider is down"):
        gate(deployment, searches)
