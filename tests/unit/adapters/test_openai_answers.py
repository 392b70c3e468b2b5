"""Answers and refusals that no model server of ours gives, from a server that says anything."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from functions.adapters.openai_embedder import OpenAiEmbedder
from functions.core.failure import FailureError, FailureKind, RefusedRequestError
from functions.core.ports import Embedded
from tests.builders import make_target
from tests.unit.adapters.scripted_server import Answer, ScriptedServer


def embed(server: ScriptedServer, *texts: str, **target: Any) -> Embedded:
    settings = make_target(**{"base_url": server.url, "dimensions": 2, **target})
    return OpenAiEmbedder(settings, lambda _: "the key").embed(texts, timeout_seconds=5)


def answer(data: object, **fields: object) -> Answer:
    body = json.dumps({"data": data, **fields}).encode()
    return Answer(body=body, headers={"content-type": "application/json"})


def item(index: object, embedding: object) -> dict[str, object]:
    return {"index": index, "embedding": embedding}


def test_request_asks_for_base64_and_dimensions(scripted: ScriptedServer) -> None:
    """R09: base64 is half the bytes and a fraction of the parsing."""
    numbers = base64.b64encode(np.array([1, 2], dtype="<f4").tobytes()).decode()
    scripted.answers = [answer([item(0, numbers)], usage={"total_tokens": 3})]

    embedded = embed(scripted, "hello")

    assert json.loads(scripted.asked[0].body) == {
        "model": "text-embedding-3-small",
        "input": ["hello"],
        "encoding_format": "base64",
        "dimensions": 2,
    }
    assert scripted.asked[0].headers["authorization"] == "Bearer the key"
    assert ([one.tolist() for one in embedded.vectors], embedded.tokens) == ([[1, 2]], 3)


def test_numbers_instead_of_base64_are_taken(scripted: ScriptedServer) -> None:
    """R14: some compatible providers ignore the asked format, and send no usage."""
    scripted.answers = [answer([item(0, [0.5, -1])])]

    embedded = embed(scripted, "hello", provider="compatible")

    assert ([one.tolist() for one in embedded.vectors], embedded.tokens) == ([[0.5, -1]], 0)
    assert "dimensions" not in json.loads(scripted.asked[0].body)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param([item(0, "not base64!")], id="not base64"),
        pytest.param([item(0, "AAAA")], id="three bytes"),
        pytest.param([item(0, [1, "x"])], id="not a number"),
        pytest.param([item(0, [[1, 2]])], id="a matrix"),
        pytest.param([item(0, None)], id="no vector"),
        pytest.param([item(None, [1, 2])], id="no index"),
        pytest.param([item(1, [1, 2])], id="index of no text"),
        pytest.param([{}], id="an empty object"),
        pytest.param([], id="no vectors"),
        pytest.param([item(0, [1, 2]), item(1, [1, 2])], id="more vectors than texts"),
        pytest.param([item(0, [1, 2]), item(0, [1, 2])], id="one vector twice"),
        pytest.param(None, id="null"),
        pytest.param({"0": [1, 2]}, id="an object"),
        pytest.param([item(0, [1, 1e999])], id="infinity"),
    ],
)
def test_wrong_answer_is_a_provider_error(scripted: ScriptedServer, data: object) -> None:
    """R22: nothing of it is written, and nothing of it is told."""
    scripted.answers = [answer(data)]

    with pytest.raises(FailureError, match="the provider is wrong") as caught:
        embed(scripted, "hello")

    assert caught.value.failure.kind is FailureKind.PROVIDER_ERROR


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"3", b'{"data": 3}', b"\xff\xfe"])
def test_answer_of_another_shape_is_a_provider_error(scripted: ScriptedServer, body: bytes) -> None:
    """R22: a status of 200 is no promise of an answer."""
    scripted.answers = [Answer(body=body, headers={"content-type": "application/json"})]

    with pytest.raises(FailureError, match="the provider is wrong: the answer cannot be read"):
        embed(scripted, "hello")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, FailureKind.CONFIGURATION),
        (403, FailureKind.CONFIGURATION),
        (404, FailureKind.CONFIGURATION),
        (408, FailureKind.TIMEOUT),
        (409, FailureKind.PROVIDER_ERROR),
        (422, FailureKind.INVALID_INPUT),
        (429, FailureKind.THROTTLED),
        (500, FailureKind.PROVIDER_ERROR),
        (504, FailureKind.PROVIDER_ERROR),
        (529, FailureKind.PROVIDER_ERROR),
    ],
)
def test_status_without_a_word_has_its_kind(
    scripted: ScriptedServer, status: int, kind: FailureKind
) -> None:
    """R22: gateways answer with a status and a page."""
    scripted.answers = [Answer(status, b"<html>hello the key</html>")]

    with pytest.raises(FailureError) as caught:
        embed(scripted, "hello")

    assert (caught.value.failure.kind, caught.value.failure.message) == (
        kind,
        f"the provider answered {status}",
    )
    assert isinstance(caught.value, RefusedRequestError) is (status == 422)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "12"}, 12),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({"retry-after": "Thu, 99 Foo 2026 99:00:00 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({}, None),
    ],
    ids=str,
)
def test_retry_after_in_any_form(
    scripted: ScriptedServer, headers: dict[str, str], seconds: float | None
) -> None:
    """R23: what cannot be read leaves the delay to the policy."""
    scripted.answers = [Answer(429, b"{}", headers)]

    with pytest.raises(FailureError) as caught:
        embed(scripted, "hello")

    assert caught.value.failure.retry_after_seconds == seconds


def test_message_of_a_refusal_is_not_told(scripted: ScriptedServer) -> None:
    """R22: a provider's message may quote the input."""
    error = {"error": {"message": "bad input: hello", "type": "invalid_request_error"}}
    scripted.answers = [
        Answer(400, json.dumps(error).encode(), {"content-type": "application/json"})
    ]

    with pytest.raises(RefusedRequestError) as caught:
        embed(scripted, "hello")

    assert caught.value.failure.message == "the provider answered 400 invalid_request_error"
