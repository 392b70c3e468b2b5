"""The answers of the model server, as the real OpenAI SDK reads them."""

from __future__ import annotations

import base64

import numpy as np
import openai
import pytest

from local.provider.server import ModelServer

MODEL = "text-embedding-3-small"
TEXTS = ["the ship left the harbour", "bread needs flour and water", "ships in the harbour"]


def test_both_formats_give_the_same_vectors_in_the_order_of_the_inputs(
    client: openai.OpenAI,
) -> None:
    """R82: base64 and float answers agree to the bit."""
    floats = client.embeddings.create(
        model=MODEL, input=TEXTS, dimensions=64, encoding_format="float"
    )
    coded = client.embeddings.create(
        model=MODEL, input=TEXTS, dimensions=64, encoding_format="base64"
    )

    from_floats = np.array([item.embedding for item in floats.data], dtype=np.float32)
    # The SDK hands base64 through untouched when it was asked for by name.
    decoded = [base64.b64decode(str(item.embedding)) for item in coded.data]
    np.testing.assert_array_equal(from_floats, [np.frombuffer(raw, "<f4") for raw in decoded])
    assert [item.index for item in coded.data] == [0, 1, 2]
    alone = [client.embeddings.create(model=MODEL, input=text, dimensions=64) for text in TEXTS]
    np.testing.assert_array_equal(from_floats, [one.data[0].embedding for one in alone])


def test_usage_counts_a_quarter_of_the_bytes_and_the_model_is_named(client: openai.OpenAI) -> None:
    """R82: usage is OpenAI's own estimate, each input rounded up."""
    response = client.embeddings.create(model=MODEL, input=["12345", "é" * 6])

    assert response.usage.model_dump() == {"prompt_tokens": 5, "total_tokens": 5}
    assert response.model == MODEL


@pytest.mark.parametrize(
    ("model", "dimensions", "expected"),
    [
        (MODEL, None, 1536),
        ("text-embedding-3-large", None, 3072),
        ("text-embedding-3-large", 256, 256),
        ("any-compatible-model", 1, 1),
    ],
)
def test_vectors_have_the_models_or_the_asked_dimensions(
    client: openai.OpenAI, model: str, dimensions: int | None, expected: int
) -> None:
    """R82: `dimensions` is obeyed, else the model's own size is kept."""
    response = client.embeddings.create(
        model=model, input="text", dimensions=openai.omit if dimensions is None else dimensions
    )

    assert len(response.data[0].embedding) == expected


def test_azure_deployment_is_the_model(server: ModelServer) -> None:
    """R82: Azure's path and api-key header work with the SDK's Azure client."""
    with (
        ModelServer(key="azure-key") as guarded,
        openai.AzureOpenAI(
            azure_endpoint=guarded.origin, api_key="azure-key", api_version="2024-10-21"
        ) as azure,
        openai.OpenAI(base_url=server.url, api_key="any") as plain,
    ):
        response = azure.embeddings.create(model="my-deployment", input=TEXTS, dimensions=8)
        same = plain.embeddings.create(model="other", input=TEXTS, dimensions=8)

    assert [item.embedding for item in response.data] == [item.embedding for item in same.data]


def test_many_requests_share_one_connection(client: openai.OpenAI) -> None:
    """R82: keep-alive answers come without the 40 ms of a delayed acknowledgement."""
    client.embeddings.create(model=MODEL, input="warm", dimensions=8)
    answers = [
        client.embeddings.with_raw_response.create(model=MODEL, input="a text", dimensions=8)
        for _ in range(20)
    ]

    ids = [answer.headers["x-request-id"] for answer in answers]
    assert len(set(ids)) == len(ids)
    assert min(answer.elapsed.total_seconds() for answer in answers) < 0.03


def test_largest_request_is_answered(client: openai.OpenAI) -> None:
    """R09: 2,048 inputs in one request."""
    response = client.embeddings.create(model=MODEL, input=["text"] * 2048, dimensions=4)

    assert [item.index for item in response.data] == list(range(2048))
