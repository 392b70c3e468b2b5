"""Bedrock's stand-in, asked with boto3: what it answers, and what it refuses as AWS does."""

import json
from typing import Any

import numpy as np
import pytest
from botocore.exceptions import ClientError

from local.aws_client import local_client
from local.provider.faults import Fault, FaultKind
from local.provider.server import ModelServer

COHERE, TITAN = "cohere.embed-v4:0", "amazon.titan-embed-text-v2:0"
GOOD = {"texts": ["a bird", "a stone"], "input_type": "search_document"}


def invoke(server: ModelServer, model: str, body: object) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the answer's body and headers."""
    client = local_client("bedrock-runtime", server.origin, retries={"total_max_attempts": 1})
    answer = client.invoke_model(modelId=model, body=json.dumps(body))
    return json.loads(answer["body"].read()), answer["ResponseMetadata"]["HTTPHeaders"]


def refused(server: ModelServer, model: str, body: object) -> tuple[str, int]:
    with pytest.raises(ClientError) as caught:
        invoke(server, model, body)
    answer = caught.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


@pytest.mark.parametrize("dimensions", [256, 1536])
@pytest.mark.parametrize("model", [COHERE, f"eu.{COHERE}"])
def test_cohere_answers_with_a_vector_of_each_text(
    server: ModelServer, model: str, dimensions: int
) -> None:
    """R82: by its own id or by that of a profile, as long as asked for."""
    body, headers = invoke(server, model, GOOD | {"output_dimension": dimensions})

    vectors = np.array(body["embeddings"]["float"])
    assert vectors.shape == (2, dimensions)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert headers["x-amzn-bedrock-input-token-count"] == "4"


def test_titan_answers_with_one_vector(server: ModelServer) -> None:
    """R82: and counts its tokens in the body."""
    body, _ = invoke(server, TITAN, {"inputText": "a bird", "dimensions": 512})

    assert (len(body["embedding"]), body["inputTextTokenCount"]) == (512, 2)


@pytest.mark.parametrize(
    ("model", "body", "expected"),
    [
        ("cohere.embed-v5:0", GOOD, ("ResourceNotFoundException", 404)),
        (COHERE, {"texts": ["a"]}, ("ValidationException", 400)),
        (COHERE, GOOD | {"texts": ["a"] * 97}, ("ValidationException", 400)),
        (COHERE, GOOD | {"texts": [""]}, ("ValidationException", 400)),
        (COHERE, GOOD | {"output_dimension": 384}, ("ValidationException", 400)),
        ("cohere.embed-english-v3", GOOD | {"texts": ["a" * 2049]}, ("ValidationException", 400)),
        (
            "cohere.embed-english-v3",
            GOOD | {"output_dimension": 1024},
            ("ValidationException", 400),
        ),
        (TITAN, {"inputText": "a" * 50_001}, ("ValidationException", 400)),
        (TITAN, {"texts": ["a"]}, ("ValidationException", 400)),
    ],
)
def test_what_bedrock_refuses_is_refused(
    server: ModelServer, model: str, body: object, expected: tuple[str, int]
) -> None:
    """R82: with AWS's own names."""
    assert refused(server, model, body) == expected


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault(FaultKind.RATE_LIMITED), ("ThrottlingException", 429)),
        (Fault(FaultKind.INSUFFICIENT_QUOTA), ("ServiceQuotaExceededException", 400)),
        (Fault(FaultKind.UNAUTHORIZED), ("AccessDeniedException", 403)),
        (Fault(FaultKind.UNKNOWN_MODEL), ("ResourceNotFoundException", 404)),
        (Fault(FaultKind.POISON, marker="bird"), ("ValidationException", 400)),
        (Fault(FaultKind.SERVER_ERROR, status=503), ("ServiceUnavailableException", 503)),
        (Fault(FaultKind.SERVER_ERROR), ("InternalServerException", 500)),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_planned_fault_is_an_error_of_aws(
    server: ModelServer, fault: Fault, expected: tuple[str, int]
) -> None:
    """R81: the same plan as for OpenAI's format."""
    server.faults(fault)

    assert refused(server, COHERE, GOOD) == expected
