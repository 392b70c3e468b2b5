"""The search handler on the event of events/, a real OpenSearch node and a model server."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import boto3
import numpy as np
import pytest

from functions.adapters.opensearch_index import OpenSearchIndex
from functions.core.entry import Chunk, Entry
from functions.core.identity import DocumentId
from functions.search import handler
from local.provider.vectors import HashedVectors
from tests.builders import NOW_MS
from tests.handlers.conftest import Context, Surroundings, event

TEXT = "a clever bird drops stones into the pitcher"


@pytest.fixture
def asked(surroundings: Surroundings, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Return the event, with a document that it finds."""
    monkeypatch.setenv("SECRETS", json.dumps({"default": "key"}))
    vector = np.asarray(HashedVectors().embed([TEXT], 16)[0], dtype=np.float32)
    entry = Entry(
        source="articles",
        document_id=DocumentId("crow"),
        version=NOW_MS,
        content_hash="",
        type="article",
        metadata={"year": 2026},
        chunks=(Chunk(TEXT, "h", vector, 0),),
        written_ms=NOW_MS,
        model="text-embedding-3-small",
    )
    OpenSearchIndex(surroundings.http, surroundings.index).write([entry], searchable_now=True)
    handler.search.cache_clear()
    yield event("12-search")
    handler.search.cache_clear()


def body(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer["body"])
    return found


def test_url_and_direct_call_give_the_same_answer(asked: dict[str, Any]) -> None:
    """R51: one function, two ways to call it."""
    by_url = handler.lambda_handler(asked, Context())
    direct = handler.lambda_handler(json.loads(asked["body"]), Context())

    assert (by_url["statusCode"], by_url["headers"]) == (200, {"content-type": "application/json"})
    assert body(by_url) == direct
    [result] = direct["results"]
    assert (result["document"], result["metadata"]) == ("crow", {"year": 2026})
    assert result["passage"] == {"text": TEXT, "start": 0, "end": len(TEXT)}
    assert (direct["mode"], direct["notes"], direct["next"]) == ("hybrid", [], None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "the body: Input should be a valid dictionary"),
        ("[" * 100_000, "the body: Input should be a valid dictionary"),
        ("{}", "query: Field required"),
        (
            '{"query": "a", "filters": ["month=1"]}',
            "no source that is asked has the metadata month",
        ),
        ('{"query": "a", "size": 500}', "size: Input should be less than or equal to 200"),
    ],
)
def test_wrong_question_is_a_400_in_words(asked: dict[str, Any], text: str, message: str) -> None:
    """R51: and no error of the function, which would raise an alarm."""
    answer = handler.lambda_handler({**asked, "body": text}, Context())

    assert answer["statusCode"] == 400
    assert body(answer)["error"]["status"] == 400
    assert body(answer)["error"]["message"].startswith(message)


@pytest.mark.parametrize("event", [None, 5, "text", []])
def test_direct_call_with_anything_is_answered(asked: dict[str, Any], event: Any) -> None:
    """R51: by a person who tries it in the console."""
    del asked
    assert handler.lambda_handler(event, Context())["error"]["status"] == 400


def test_body_may_be_in_base64(asked: dict[str, Any]) -> None:
    """R51: as Lambda passes on what it does not take for text."""
    encoded = base64.b64encode(asked["body"].encode()).decode()
    answer = handler.lambda_handler({**asked, "body": encoded, "isBase64Encoded": True}, Context())

    assert len(body(answer)["results"]) == 1


def test_provider_that_is_down_leaves_text(
    asked: dict[str, Any], surroundings: Surroundings
) -> None:
    """R48: without a key, say, the words still find it, and the answer says so."""
    boto3.client("secretsmanager").put_secret_value(SecretId="key", SecretString="wrong")

    answer = handler.lambda_handler({"query": "clever"}, Context())

    assert [one["document"] for one in answer["results"]] == ["crow"]
    assert answer["mode"] == "text"
    assert answer["notes"][0].startswith("by text alone: the provider failed")
    assert surroundings.index in answer["index"]
    assert asked["version"] == "2.0"


def test_lost_read_alias_is_a_503_that_says_what_to_do(
    asked: dict[str, Any], surroundings: Surroundings
) -> None:
    """R51: an index of a version without it."""
    alias = f"{surroundings.index}-read"
    surroundings.http.call("DELETE", f"{surroundings.index}-1/_alias/{alias}")

    answer = handler.lambda_handler(asked, Context())

    assert answer["statusCode"] == 503
    assert body(answer)["error"]["message"] == (
        f"OpenSearch has no alias {alias}: see docs/operations/index-was-lost.md"
    )


def test_reason_of_a_failed_search_is_logged(
    asked: dict[str, Any], surroundings: Surroundings, caplog: pytest.LogCaptureFixture
) -> None:
    """R63: an operator sees why, also where the caller threw the answer away."""
    handler.search()
    surroundings.http.call("POST", f"{surroundings.index}-1/_close")

    answer = handler.lambda_handler(asked, Context())

    [line] = [vars(record) for record in caplog.records if record.name == "search"]
    assert (line["levelname"], line["status"]) == ("WARNING", 503)
    assert line["reason"] == body(answer)["error"]["message"]


def test_read_alias_on_two_indexes_is_said(
    asked: dict[str, Any], surroundings: Surroundings
) -> None:
    """R44: by a hand in OpenSearch: one of both would answer, nobody knows which."""
    name, alias = f"{surroundings.index}-other", f"{surroundings.index}-read"
    surroundings.http.call("PUT", name, {"aliases": {alias: {}}})
    try:
        answer = handler.lambda_handler(asked, Context())
    finally:
        surroundings.http.call("DELETE", name)

    assert answer["statusCode"] == 503
    assert f"{alias} stands at several indexes: " in body(answer)["error"]["message"]


def test_words_of_a_question_are_never_logged(
    asked: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """R63: neither those of a good question nor of a wrong one."""
    for text in (asked["body"], '{"query": "clever", "size": 500}', '{"query": "clever", "x": 1}'):
        handler.lambda_handler({**asked, "body": text}, Context())

    lines = [str(vars(record)) for record in caplog.records if record.name == "search"]
    assert len(lines) == 3
    assert "clever" not in "".join(lines)
