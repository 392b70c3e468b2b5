"""The custom resource: CloudFormation always gets an answer, and a failure in words."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.adapters.dynamodb_control import DynamoDbControl
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.index_setup import handler
from functions.index_setup.handler import lambda_handler
from tests.unit.adapters.scripted_server import Answer, ScriptedServer

NOT_FOUND = Answer(404, b'{"error": {"type": "index_not_found_exception", "reason": "none"}}')


MAPPING = {
    "_meta": {"model": "text-embedding-3-small"},
    "properties": {
        "chunks": {
            "type": "nested",
            "properties": {"vector": {"type": "knn_vector", "dimension": 4}},
        }
    },
}


def settings(uuid: str) -> bytes:
    sizes = {"number_of_shards": "1", "number_of_replicas": "0", "uuid": uuid}
    return json.dumps({"articles-1": {"settings": {"index": sizes}}}).encode()


class Context:
    """A run with so much time left."""

    function_name = "index-setup"
    memory_limit_in_mb = 128
    invoked_function_arn = "arn"
    aws_request_id = "request"

    def __init__(self, seconds: float = 25) -> None:
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return round(self._seconds * 1000)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "INDEX_ENDPOINT": "http://127.0.0.1:9",
        "LEDGER_TABLE": "ledger",
        "INDEXES": '{"articles": ""}',
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True)
def control(environment: None) -> Iterator[DynamoDbControl]:  # noqa: ARG001
    with mock_aws():
        client = boto3.client("dynamodb")
        client.create_table(
            TableName="ledger",
            KeySchema=[{"AttributeName": "row_key", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "row_key", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield DynamoDbControl(client, "ledger")


def event(server: ScriptedServer, kind: str = "Create", **properties: Any) -> dict[str, Any]:
    return {
        "RequestType": kind,
        "ResponseURL": f"{server.url}/answer?signature=x",
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "DefaultIndex",
        # CloudFormation sends every number as a string.
        "ResourceProperties": {
            "ServiceToken": "arn",
            "Target": "default",
            "Index": "articles",
            "Model": "text-embedding-3-small",
            "Dimensions": "4",
            "Metadata": {"year": "long"},
            "Shards": "1",
            "Replicas": "0",
            **properties,
        },
    }


def run(server: ScriptedServer, request: dict[str, Any], seconds: float = 25) -> dict[str, Any]:
    """Run the function; return what CloudFormation heard."""
    lambda_handler(request, Context(seconds))
    [asked] = [one for one in server.asked if one.path == "/answer?signature=x"]
    assert asked.method == "PUT"
    answer: dict[str, Any] = json.loads(asked.body)
    return answer


def answer(status: str, reason: str, physical_id: str) -> dict[str, Any]:
    return {
        "Status": status,
        "Reason": reason,
        "PhysicalResourceId": physical_id,
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "DefaultIndex",
    }


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_create_update_and_misfit_on_a_real_index(
    scripted: ScriptedServer,
    http: OpenSearchHttp,
    alias: str,
    opensearch_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R01 R12: a misfit fails the deployment with what to do about it."""
    monkeypatch.setenv("INDEX_ENDPOINT", opensearch_url)
    heard = []
    for kind, dimensions in (("Create", "4"), ("Update", "4"), ("Update", "8")):
        scripted.asked.clear()
        heard.append(run(scripted, event(scripted, kind, Index=alias, Dimensions=dimensions)))

    misfit = (
        f"index {alias} holds vectors of 4 dimensions, the target asks for 8: give the new model "
        "a target of its own, or another index name"
    )
    assert heard == [
        answer("SUCCESS", "created", alias),
        answer("SUCCESS", "checked", alias),
        answer("FAILED", misfit, alias),
    ]
    [index] = http.call("GET", alias).values()
    assert index["settings"]["index"]["number_of_replicas"] == "0"


def test_deleting_the_resource_leaves_the_index(scripted: ScriptedServer) -> None:
    """R01: vectors that were paid are the user's to delete; OpenSearch is not even asked."""
    request = event(scripted, "Delete") | {"PhysicalResourceId": "articles"}

    assert run(scripted, request) == answer("SUCCESS", "done", "articles")


def test_broken_properties_are_told_each(scripted: ScriptedServer) -> None:
    """R01: what is wrong and where; a rollback then deletes a resource with a name."""
    request = event(scripted, Dimensions="many", Metadata={"year": "int"})
    del request["ResourceProperties"]["Model"]

    heard = run(scripted, request)

    assert heard == answer("FAILED", heard["Reason"], "DefaultIndex")
    assert heard["Reason"].split("; ") == [
        "Model: Field required",
        "Dimensions: Input should be a valid integer, unable to parse string as an integer",
        "Metadata.year: Input should be 'keyword', 'text', 'long', 'double', 'boolean' or 'date'",
    ]


def test_unreachable_index_is_told_before_the_time_is_up(scripted: ScriptedServer) -> None:
    """R01: CloudFormation would wait for an hour for an answer that never comes."""
    assert run(scripted, event(scripted)) == answer(
        "FAILED",
        "index_unavailable: OpenSearch: no answer (EndpointConnectionError)",
        "articles",
    )


def test_request_that_will_never_pass_is_not_repeated(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R01: a refused mapping fails at once, however much time is left."""
    monkeypatch.setenv("INDEX_ENDPOINT", scripted.url)
    refused = b'{"error": {"type": "mapper_parsing_exception", "reason": "Dimension is too large"}}'
    scripted.answers = [NOT_FOUND, Answer(400, refused), Answer()]

    assert run(scripted, event(scripted, Dimensions="99999"), seconds=600) == answer(
        "FAILED",
        "OpenSearch answered 400 mapper_parsing_exception: Dimension is too large",
        "articles",
    )


def test_domain_that_is_not_ready_is_asked_again(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R01: a new domain takes a while until it knows its access policy."""
    monkeypatch.setenv("INDEX_ENDPOINT", scripted.url)
    monkeypatch.setattr(handler, "RETRY_SECONDS", 0)
    found = json.dumps({"articles-1": {"mappings": MAPPING}}).encode()
    forbidden = Answer(403, b'{"Message": "User: x is not authorized"}')
    scripted.answers = [
        forbidden,
        Answer(503),
        Answer(200, found),
        Answer(200, b"{}"),
        Answer(200, b"{}"),
        Answer(200, settings("index-1")),
        Answer(200, settings("index-1")),
        Answer(),
    ]

    assert run(scripted, event(scripted), seconds=600) == answer("SUCCESS", "checked", "articles")


def test_new_index_is_noted_and_another_one_is_reported(
    scripted: ScriptedServer,
    control: DynamoDbControl,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """R12 R61: the deployment that follows a lost index says so; the sweep raises the alarm."""
    monkeypatch.setenv("INDEX_ENDPOINT", scripted.url)
    found = json.dumps({"articles-1": {"mappings": MAPPING}}).encode()
    for uuid in ("index-1", "index-2"):
        scripted.asked.clear()
        scripted.answers = [
            Answer(200, found),
            Answer(200, b"{}"),
            Answer(200, b"{}"),
            Answer(200, settings(uuid)),
            Answer(200, settings(uuid)),
            Answer(),
        ]
        assert "index_lost" not in caplog.messages
        run(scripted, event(scripted))
        assert control.read("default").index_uuid == "index-1"

    [lost] = [vars(record) for record in caplog.records if record.message == "index_lost"]
    assert (lost["levelname"], lost["target"]) == ("ERROR", "default")
    assert "another index than before is behind articles" in lost["reason"]


def test_ledger_that_does_not_answer_refuses_no_deployment(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R01: the sweep notes the index a minute later."""
    monkeypatch.setenv("INDEX_ENDPOINT", scripted.url)
    monkeypatch.setenv("LEDGER_TABLE", "missing")
    found = json.dumps({"articles-1": {"mappings": MAPPING}}).encode()
    scripted.answers = [
        Answer(200, found),
        Answer(200, b"{}"),
        Answer(200, b"{}"),
        Answer(200, settings("index-1")),
        Answer(200, settings("index-1")),
        Answer(),
    ]

    assert run(scripted, event(scripted)) == answer("SUCCESS", "checked", "articles")


def test_failure_without_a_word_is_told_by_its_name(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R01: CloudFormation refuses a failure without a reason."""
    request = event(scripted)
    del request["ResourceProperties"]
    assert run(scripted, request)["Reason"] == "'ResourceProperties'"

    scripted.asked.clear()
    monkeypatch.setattr(handler, "_ensure", _fail_silently)
    assert run(scripted, event(scripted)) == answer("FAILED", "TimeoutError", "articles")


def _fail_silently(*_: object) -> str:
    raise TimeoutError
