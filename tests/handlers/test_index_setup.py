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
    http.call("PUT", f"{index}-replaced-1", {"aliases": {shared["SharedAlias"]: {}}})

    refused = deploy(index, before=shared)
    assert refused["Status"] == "FAILED"
    assert "switch first, with `embedq migrate switch`" in refused["Reason"]
    assert deploy(index, before={"Index": index, **shared}, **shared)["Status"] == "SUCCESS"

    http.call("PUT", f"{index}-1/_alias/{index}-replaced-read", {})
    assert deploy(index, before=shared)["Status"] == "SUCCESS"


def test_successor_that_answers_searches_keeps_its_index_name(
    index: str, opensearch_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R44 R55: under another name it would leave the index that searches read; and may go back."""
    http = OpenSearchHttp(opensearch_url, credentials=None, region=REGION)
    old, new, other = f"{index}-old", f"{index}-new", f"{index}-other"
    shared = {"SharedAlias": f"{old}-read"}
    deploy(new)
    http.call("PUT", f"{new}-1/_alias/{old}-read", {})

    monkeypatch.setenv("INDEXES", json.dumps({old: "", other: old}))
    refused = deploy(other, before={"Index": new, **shared}, **shared)
    assert refused["Status"] == "FAILED"
    assert f"searches of {old} read the index {new}-1, and no target" in refused["Reason"]

    monkeypatch.setenv("INDEXES", json.dumps({old: "", new: old}))
    assert deploy(new, before={"Index": other, **shared}, **shared)["Status"] == "SUCCESS"


def test_target_that_comes_back_as_a_successor_is_read_from_its_own_index(
    index: str, opensearch_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R44 R55: an earlier migration, the other way round, has left its alias at the other index."""
    admin = OpenSearchAdmin(OpenSearchHttp(opensearch_url, credentials=None, region=REGION))
    first, second = f"{index}-a", f"{index}-b"
    deploy(first)
    deploy(second)
    admin.move_alias(f"{first}-read", before={f"{first}-1"}, after=f"{second}-1")

    monkeypatch.setenv("INDEXES", json.dumps({first: second, second: ""}))
    assert deploy(first, SharedAlias=f"{second}-read")["Status"] == "SUCCESS"

    assert admin.indexes_behind(f"{first}-read") == {f"{first}-1"}
    assert admin.indexes_behind(f"{second}-read") == {f"{second}-1"}
