"""Targets on Bedrock through the whole pipeline: throttled, and with a text that is refused."""

import boto3
import pytest

from functions.adapters.providers import make_embedder
from functions.core.ledger_row import Status
from local.provider.faults import Fault, FaultKind
from local.provider.server import ModelServer
from tests.builders import make_pipeline, make_target

POISON = "plugh"
SESSION = boto3.Session("an-id", "a-secret", region_name="eu-west-1")


@pytest.mark.parametrize("model", ["eu.cohere.embed-v4:0", "amazon.titan-embed-text-v2:0"])
def test_throttled_and_refused_documents_on_bedrock(model: str) -> None:
    """R10 R17 R23 R24: a 429 spends no attempt, a refused text fails alone, a query finds."""
    with ModelServer() as server:
        target = {
            "provider": "bedrock",
            "model": model,
            "dimensions": 256,
            "base_url": server.origin,
        }
        settings = make_target(**target)
        documents, queries = (
            make_embedder(settings, lambda _: "", is_query=is_query, client=SESSION.client)
            for is_query in (False, True)
        )
        pipeline = make_pipeline(target=target, embedders={"default": documents})
        server.faults(
            Fault(FaultKind.RATE_LIMITED, requests=2, seconds=1),
            Fault(FaultKind.POISON, marker=POISON),
        )
        for name, body in {
            "hinge": "a brass hinge for a door",
            "wheel": "the wheel of a bicycle",
            "bad": f"a {POISON} that is refused",
        }.items():
            pipeline.tables["articles"].put({"id": name, "body": body})
        pipeline.drain()

        rows = {name: pipeline.row(name, source="articles") for name in ("hinge", "wheel", "bad")}
        query = queries.embed(["brass hinge"], timeout_seconds=20)
        [found] = pipeline.indexes["default"].search(query.vectors[0], most=1)

    ends = {name: row and (row.status, row.progress.attempts) for name, row in rows.items()}
    assert ends["hinge"] == ends["wheel"] == (Status.COMPLETED, 1)
    assert ends["bad"] == (Status.FAILED, 1)
    bad = rows["bad"]
    assert bad is not None
    assert bad.outcome.reason == "invalid_input: the provider answered 400 ValidationException"
    assert found.document_id == "hinge"
