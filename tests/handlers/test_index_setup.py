"""The index_setup handler on the event of events/ and a real OpenSearch node."""

import json
import os
import uuid
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.adapters.dynamodb_control import DynamoDbControl
from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.index_setup.handler import lambda_handler
from tests.contract.ledger_engines import ledger_table
from tests.handlers.conftest import REGION, Context, event
from tests.unit.adapters.scripted_server import ScriptedServer


@pytest.fixture
def index(
    request: pytest.FixtureRequest, opensearch_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("INDEX_ENDPOINT", opensearch_url)
    with mock_aws(), ledger_table(request, "moto") as table:
        monkeypatch.setenv("LEDGER_TABLE", table.name)
        index = f"setup-{uuid.uuid4().hex}"
        monkeypatch.setenv("INDEXES", json.dumps({index: ""}))
        yield index


def deploy(index: str, *, before: Any = None, **properties: Any) -> dict[str, Any]:
    """Play CloudFormation: send the request, and return what was answered."""
    request = event("8-index-setup-create")
    request["ResourceProperties"] |= {"Index": index, **properties}
    if before is not None:
        request |= {"RequestType": "Update", "OldResourceProperties": before}
    with ScriptedServer() as cloudformation:
        request["ResponseURL"] = f"{cloudformation.url}/answer"
        lambda_handler(request, Context())
        [answered] = cloudformation.asked
    body: dict[str, Any] = json.loads(answered.body)
    return body


def test_deployment_creates_the_index_behind_its_alias(index: str, opensearch_url: str) -> None:
    """R11 R12: nested chunks with vectors of the model's dimensions."""
    answer = deploy(index)

    http = OpenSearchHttp(opensearch_url, credentials=None, region=REGION)
    [mapping] = http.call("GET", f"{index}/_mapping").values()
    vector = mapping["mappings"]["properties"]["chunks"]["properties"]["vector"]
    assert (answer["Status"], answer["PhysicalResourceId"]) == ("SUCCESS", index)
    assert vector["dimension"] == 16
    control = DynamoDbControl(boto3.client("dynamodb"), os.environ["LEDGER_TABLE"])
    assert control.read("default").index_uuid == OpenSearchAdmin(http).uuid(index)


def test_other_dimensions_fail_the_deployment_in_words(index: str) -> None:
    """R12: vectors of another size are never written into an existing index."""
    deploy(index)

    answer = deploy(index, Dimensions="32")

    assert answer["Status"] == "FAILED"
    assert answer["Reason"] == (
        f"index {index} holds vectors of 16 dimensions, the target asks for 32: give the new model"
        " a target of its own, or another index name"
    )


def test_replaced_target_is_not_removed_before_the_switch(index: str, opensearch_url: str) -> None:
    """R44: the deployment is refused in words; after the switch it passes."""
    http = OpenSearchHttp(opensearch_url, credentials=None, region=REGION)
    deploy(index)
    shared = {"SharedAlias": f"{index}-replaced-read"}

    refused = deploy(index, before=shared)
    assert refused["Status"] == "FAILED"
    assert "switch first, with `embedq migrate switch`" in refused["Reason"]
    assert deploy(index, before=shared, **shared)["Status"] == "SUCCESS"

    http.call("PUT", f"{index}-1/_alias/{index}-replaced-read", {})
    assert deploy(index, before=shared)["Status"] == "SUCCESS"
