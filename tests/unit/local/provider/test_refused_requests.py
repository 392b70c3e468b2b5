"""Requests that OpenAI would refuse are refused here, with the same exception in the SDK."""

from __future__ import annotations

import http.client
import json
from typing import Any

import openai
import pytest

from local.provider.server import ModelServer

MODEL = "text-embedding-3-small"


def post(server: ModelServer, path: str, body: str, **headers: str) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request("POST", path, body.encode(), headers)
    response = connection.getresponse()
    answer = response.status, json.loads(response.read())
    connection.close()
    return answer


@pytest.mark.parametrize("key", ["wrong", "clé"])
def test_wrong_key_is_an_authentication_error(key: str) -> None:
    """R24: a 401 in OpenAI's shape, without the key in it."""
    with ModelServer(key="right") as server:
        status, body = post(
            server, "/v1/embeddings", "{}", Authorization=f"Bearer {key}".encode().decode("latin-1")
        )
        with (
            openai.OpenAI(base_url=server.url, api_key="wrong", max_retries=0) as client,
            pytest.raises(openai.AuthenticationError) as caught,
        ):
            client.embeddings.create(model=MODEL, input="text")

    assert status == 401
    assert body["error"]["code"] == "invalid_api_key"
    assert caught.value.code == "invalid_api_key"
    assert "wrong" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param([], "at least one string", id="no input"),
        pytest.param("", "empty string", id="empty string"),
        pytest.param(["good", ""], "'input[1]'", id="one empty string"),
        pytest.param([1, 2, 3], "Token arrays", id="token array"),
        pytest.param([[1, 2], [3]], "Token arrays", id="token arrays"),
        pytest.param(["text"] * 2049, "maximum length 2048", id="2,049 inputs"),
        pytest.param("word" * 8193, "8192 tokens", id="8,193 tokens in one input"),
        pytest.param(["word" * 8000] * 38, "max 300000", id="304,000 tokens in a request"),
    ],
)
def test_input_over_openais_limits_is_a_bad_request(
    client: openai.OpenAI, given: Any, says: str
) -> None:
    """R09: OpenAI's limits hold here too, so that a packing mistake shows."""
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(model=MODEL, input=given)

    assert says in caught.value.message


@pytest.mark.parametrize(
    ("body", "param"),
    [
        pytest.param("not json", None, id="not JSON"),
        pytest.param("[]", None, id="not an object"),
        pytest.param('{"input": "a"}', "model", id="no model"),
        pytest.param('{"model": "m"}', "input", id="no input"),
        pytest.param('{"model": "m", "input": "\\ud800"}', "input", id="half a surrogate"),
        pytest.param(
            '{"model": "m", "input": "a", "encoding_format": "hex"}', "encoding_format", id="format"
        ),
        pytest.param('{"model": "m", "input": "a", "dimensions": 0}', "dimensions", id="none"),
        pytest.param('{"model": "m", "input": "a", "dimensions": true}', "dimensions", id="bool"),
        pytest.param(
            f'{{"model": "{MODEL}", "input": "a", "dimensions": 1537}}', "dimensions", id="too many"
        ),
        pytest.param(
            '{"model": "text-embedding-ada-002", "input": "a", "dimensions": 8}', None, id="ada"
        ),
    ],
)
def test_malformed_body_is_refused_with_the_field_that_is_wrong(
    server: ModelServer, body: str, param: str | None
) -> None:
    """R82: a bad request differs from a bad server."""
    status, answer = post(server, "/v1/embeddings", body)

    assert status == 400
    assert answer["error"]["param"] == param
    assert answer["error"]["type"] == "invalid_request_error"


def test_azure_path_alone_names_the_model(server: ModelServer) -> None:
    """R82: Azure's body needs no model, and the one in the path wins."""
    path = "/openai/deployments/in-the-path/embeddings?api-version=2024-10-21"
    without = post(server, path, '{"input": "a", "dimensions": 2}')
    other = post(server, path, '{"model": "in-the-body", "input": "a", "dimensions": 2}')

    assert (without[0], without[1]["model"]) == (200, "in-the-path")
    assert other[1]["model"] == "in-the-path"


@pytest.mark.parametrize(
    "path",
    [
        "/v2/embeddings",
        "/openai/deployments/name/embeddings",
        "/openai/deployments//embeddings?api-version=1",
        "/openai/deployments/a/b/embeddings?api-version=1",
    ],
)
def test_unknown_path_is_not_found(server: ModelServer, path: str) -> None:
    """R82: Azure's path needs a deployment and an api-version, as Azure itself asks."""
    status, answer = post(server, path, '{"model": "m", "input": "a"}')

    assert (status, server.counts()["requests"]) == (404, 0)
    assert answer["error"]["message"]


def test_body_without_or_over_its_length_is_refused(server: ModelServer) -> None:
    """R82: no body is read that could not be held."""
    too_long = post(server, "/v1/embeddings", "", **{"Content-Length": str(10**9)})
    in_pieces = post(server, "/v1/embeddings", "", **{"Transfer-Encoding": "chunked"})

    assert (too_long[0], in_pieces[0]) == (413, 411)
