"""Providers that speak OpenAI's protocol in their own way: requests by settings, any answer."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from functions.adapters.providers import make_embedder
from functions.core.ports import Embedded
from tests.builders import make_target
from tests.unit.adapters.scripted_server import Answer, ScriptedServer

BASE64 = base64.b64encode(np.array([0.5, -1], dtype="<f4").tobytes()).decode()
NUMBERS = {"index": 0, "embedding": [0.5, -1.0]}


def embed(
    server: ScriptedServer, data: object = (NUMBERS,), *, is_query: bool = False, **settings: Any
) -> tuple[Embedded, dict[str, Any]]:
    """Embed one text; return the result and the body of the request."""
    body = data if isinstance(data, dict) else {"data": data}
    server.answers = [
        Answer(body=json.dumps(body).encode(), headers={"content-type": "application/json"})
    ]
    values = {"base_url": server.url, "dimensions": 2, "model": "m", "provider": "compatible"}
    target = make_target(**values | settings)
    answer = make_embedder(target, lambda _: "the key", is_query=is_query).embed(
        ["hello"], timeout_seconds=5
    )
    return answer, json.loads(server.asked[-1].body)


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({}, {"encoding_format": "base64"}),
        ({"encoding_format": "float"}, {"encoding_format": "float"}),
        ({"encoding_format": "none"}, {}),
        ({"encoding_format": "none", "send_dimensions": True}, {"dimensions": 2}),
        (
            {"encoding_format": "none", "document_extra_body": {"task": "retrieval.passage"}},
            {"task": "retrieval.passage"},
        ),
        (
            {"encoding_format": "none", "query_extra_body": {"task": "retrieval.query"}},
            {},
        ),
    ],
    ids=str,
)
def test_request_has_the_fields_of_the_settings(
    scripted: ScriptedServer, settings: dict[str, Any], fields: dict[str, Any]
) -> None:
    """R17: no field that the provider would refuse, each that it needs."""
    _, body = embed(scripted, **settings)

    assert body == {"model": "m", "input": ["hello"], **fields}


def test_query_has_its_own_fields(scripted: ScriptedServer) -> None:
    """R17: a query is embedded in its role."""
    _, body = embed(
        scripted,
        is_query=True,
        document_extra_body={"input_type": "document"},
        query_extra_body={"input_type": "query"},
    )

    assert body["input_type"] == "query"


@pytest.mark.parametrize("provider", ["compatible", "azure"])
def test_headers_of_the_settings_are_sent_beside_the_key(
    scripted: ScriptedServer, provider: str
) -> None:
    """R17: a gateway may want a header of its own."""
    embed(
        scripted, provider=provider, api_version="2024-10-21", headers={"x-team": "search and find"}
    )

    headers = scripted.asked[-1].headers
    assert headers["x-team"] == "search and find"
    keys = {"compatible": headers.get("authorization"), "azure": headers.get("api-key")}
    assert str(keys[provider]).endswith("the key")


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        pytest.param({"data": [{"index": 0, "embedding": BASE64}]}, 2, id="base64"),
        pytest.param({"data": [NUMBERS]}, 2, id="numbers"),
        pytest.param({"data": [{"embedding": [0.5, -1]}]}, 2, id="no index"),
        pytest.param({"data": [{"index": "0", "embedding": [0.5, -1]}]}, 2, id="index as text"),
        pytest.param({"data": [{"index": 0, "embedding": ["0.5", "-1"]}]}, 2, id="text numbers"),
        pytest.param({"data": [NUMBERS], "usage": None}, 2, id="usage null"),
        pytest.param({"data": [NUMBERS], "usage": {"prompt_tokens": 3}}, 2, id="other usage"),
        pytest.param({"data": [NUMBERS], "usage": {"total_tokens": "3"}}, 2, id="usage as text"),
        pytest.param({"data": [NUMBERS], "usage": {"total_tokens": 3}}, 3, id="usage"),
        pytest.param(
            {"object": "list", "model": "m", "id": "x", "data": [{**NUMBERS, "object": "e"}]},
            2,
            id="more fields",
        ),
    ],
)
def test_answer_of_every_shape_is_read(
    scripted: ScriptedServer, answer: dict[str, Any], tokens: int
) -> None:
    """R17: what is missing is counted by ourselves."""
    embedded, _ = embed(scripted, answer)

    assert [one.tolist() for one in embedded.vectors] == [[0.5, -1]]
    assert embedded.tokens == tokens
