"""The embed handler on the events of events/, a real OpenSearch node and a model server."""

import json
import time
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import pytest

from functions.adapters.openai_embedder import OpenAiEmbedder
from functions.adapters.opensearch_search import OpenSearchSearch
from functions.core.filters import Condition, Test
from functions.core.search import Question
from functions.embed import handler
from functions.embed.handler import lambda_handler
from functions.enqueue.handler import lambda_handler as enqueue
from local.provider.faults import Fault, FaultKind
from tests.builders import make_target
from tests.handlers.conftest import Context, Surroundings, event

POISONED = "The word is xyzzy."


def embed(records: list[dict[str, Any]]) -> list[str]:
    """Call the handler; return the ids that failed."""
    answer = lambda_handler({"Records": records}, Context())
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def embed_all(surroundings: Surroundings, messages: list[dict[str, Any]]) -> list[str]:
    """Call the handler, and delete what it acknowledged, as Lambda does."""
    failed = embed(messages)
    for message in messages:
        if message["messageId"] not in failed:
            url = surroundings.queues["normal.fifo"]
            surroundings.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["receiptHandle"])
    return failed


def written(surroundings: Surroundings, text: str, name: str = "1-enqueue-insert") -> list[Any]:
    """Write the item and enqueue the change; return the messages in its lane."""
    surroundings.put(text)
    enqueue(event(name), Context())
    return surroundings.messages("normal.fifo")


def test_task_becomes_a_searchable_entry(surroundings: Surroundings) -> None:
    """R11 R12 R28 R48: written, found by the next search, completed in the ledger."""
    failed = embed(written(surroundings, "A fox jumps."))

    target = make_target(base_url=surroundings.provider.url)
    embedder = OpenAiEmbedder(target, lambda _: "the-key")
    [vector] = embedder.embed(["fox"], timeout_seconds=5).vectors
    question = Question(
        "knn", vector=vector, conditions=(Condition((Test("year", "long", 2026),)),)
    )
    [hit] = OpenSearchSearch(surroundings.http).ask(f"{surroundings.index}-1", question)
    row = surroundings.row()
    assert failed == []
    assert (hit.document_id, hit.text) == ("a", "Title\n\nA fox jumps.")
    assert (row["status"]["S"], row["chunks_done"]["N"]) == ("completed", "1")
    assert surroundings.entry()["_version"] == int(row["version"]["N"])


@pytest.mark.usefixtures("surroundings")
@pytest.mark.parametrize(("runtime", "built"), [("127.0.0.1:9001", 1), (None, 0)])
def test_step_is_built_before_lambda_hands_out_an_event(
    monkeypatch: pytest.MonkeyPatch, runtime: str | None, built: int
) -> None:
    """R34: a run's first act is to shorten the time for which its messages are hidden."""
    monkeypatch.delenv("AWS_LAMBDA_RUNTIME_API", raising=False)
    if runtime is not None:
        monkeypatch.setenv("AWS_LAMBDA_RUNTIME_API", runtime)
    spec = spec_from_file_location("handler_as_lambda_loads_it", str(handler.__file__))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)

    spec.loader.exec_module(module)

    assert module.embed.cache_info().currsize == built


def test_removed_document_leaves_a_tombstone(surroundings: Surroundings) -> None:
    """R07: under the version of the delete."""
    embed(written(surroundings, "A fox jumps."))
    surroundings.dynamodb.delete_item(TableName="articles-table", Key={"id": {"S": "a"}})
    enqueue(event("3-enqueue-remove"), Context())

    failed = embed(surroundings.messages("delete"))

    assert failed == []
    assert surroundings.entry()["_source"]["deleted"] is True
    assert surroundings.row()["status"]["S"] == "deleted"


def test_edit_pays_only_for_what_changed(surroundings: Surroundings) -> None:
    """R06: the vectors of the other chunks come from the entry."""
    paragraphs = [f"Paragraph {n} speaks of matter {n * 7919}. " * 40 for n in range(6)]
    embed_all(surroundings, written(surroundings, "\n\n".join(paragraphs)))
    surroundings.provider.reset_counts()
    paragraphs[3] = "This one is another. " * 60

    embed(written(surroundings, "\n\n".join(paragraphs), "2-enqueue-modify"))

    assert surroundings.provider.counts()["paid"]["inputs"] == 1
    assert surroundings.row()["chunks_done"]["N"] == "6"


@pytest.mark.parametrize("name", ["5-embed-task", "6-embed-delete"])
def test_task_without_a_row_is_acknowledged(surroundings: Surroundings, name: str) -> None:
    """R05: rows vanish only when nothing is owed."""
    assert embed(event(name)["Records"]) == []
    assert surroundings.provider.counts()["requests"] == 0


def test_foreign_message_fails_alone(
    surroundings: Surroundings, caplog: pytest.LogCaptureFixture
) -> None:
    """R10: the other message of the batch is acknowledged."""
    surroundings.sqs.send_message(
        QueueUrl=surroundings.queues["normal.fifo"],
        MessageBody=event("7-embed-foreign-message")["Records"][0]["body"],
        MessageGroupId="x",
        MessageDeduplicationId="x",
    )
    [foreign] = surroundings.messages("normal.fifo")
    ours = event("7-embed-foreign-message")["Records"][1]

    failed = embed([foreign, ours])

    [line] = [vars(r) for r in caplog.records if r.getMessage() == "message_malformed"]
    assert failed == [foreign["messageId"]]
    assert line["message_id"] == foreign["messageId"]


def test_poison_is_recorded_and_handed_back(surroundings: Surroundings) -> None:
    """R10 R24: permanent; the message is visible at once, so that SQS moves it on."""
    surroundings.provider.faults(Fault(FaultKind.POISON, marker="xyzzy"))
    [message] = written(surroundings, POISONED)

    failed = embed([message])

    row = surroundings.row()
    assert failed == [message["messageId"]]
    assert row["status"]["S"] == "failed"
    assert row["reason"]["S"].startswith("invalid_input: the provider answered 400")
    assert "xyzzy" not in json.dumps(row)
    assert [again["messageId"] for again in surroundings.messages("normal.fifo")] == failed


def test_throttled_run_waits_as_long_as_the_provider_says(surroundings: Surroundings) -> None:
    """R23: the same run goes on after Retry-After, and no attempt is spent on the waiting."""
    surroundings.provider.faults(Fault(FaultKind.RATE_LIMITED, requests=1, seconds=2))
    began = time.monotonic()

    failed = embed(written(surroundings, "A fox jumps."))

    row = surroundings.row()
    assert failed == []
    assert time.monotonic() - began >= 2
    assert (row["attempts"]["N"], row["status"]["S"]) == ("1", "completed")


def test_rotated_key_is_fetched_anew(surroundings: Surroundings) -> None:
    """R24 R25: a refused key parks the task without a charge; the probe reads the key again."""
    surroundings.secrets.put_secret_value(SecretId="key", SecretString="old")
    failed = embed(written(surroundings, "A fox jumps."))
    row = surroundings.row()
    probe = {"probe": ["provider", "index"]}
    refused = lambda_handler(probe, Context())
    surroundings.secrets.put_secret_value(SecretId="key", SecretString="the-key")

    answer = lambda_handler(probe, Context())

    assert (failed, "attempts" in row, row["parked"]["BOOL"]) == ([], False, True)
    assert refused["index"] is None
    assert str(refused["provider"]).startswith("configuration: ")
    assert answer == {"provider": None, "index": None}


def test_index_that_is_down_keeps_the_paid_vectors(surroundings: Surroundings) -> None:
    """R12 R13: the retry pays nothing."""
    [message] = written(surroundings, "A fox jumps.")
    surroundings.http.call("PUT", f"{surroundings.index}/_settings", {"index.blocks.write": True})
    embed([message])
    surroundings.http.call("PUT", f"{surroundings.index}/_settings", {"index.blocks.write": False})

    failed = embed([message])

    assert failed == []
    assert surroundings.provider.counts()["paid"]["inputs"] == 1
    assert surroundings.entry()["_source"]["deleted"] is False
