"""The wire format of Amazon Bedrock: POST /model/{id}/invoke with the body of each model family.

Signatures are not checked, as the engines check none.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from starlette.responses import JSONResponse, Response

from local.provider.answers import changed
from local.provider.errors import ApiError, invalid_input
from local.provider.faults import FaultKind
from local.provider.request import EmbeddingsRequest, check_text, count_tokens, json_object

if TYPE_CHECKING:
    from local.provider.vectors import Vectors

TOKEN_COUNT = "x-amzn-bedrock-input-token-count"
MOST_TEXTS = 96
TITAN = "amazon.titan-embed-text-v2:0"
COHERE_V4 = "cohere.embed-v4:0"
# The usual number first.
DIMENSIONS = {
    TITAN: (1024, 512, 256),
    COHERE_V4: (1536, 1024, 512, 256),
    "cohere.embed-english-v3": (1024,),
    "cohere.embed-multilingual-v3": (1024,),
}
# Faults that need an index beside each vector: these answers have none.
WITH_INDEXES = (FaultKind.WRONG_ORDER, FaultKind.WRONG_INDEX)
# Characters of a text.
LONGEST_TEXT = {TITAN: 50_000, COHERE_V4: 512_000}
LONGEST_OF_V3 = 2048
ROLES = ("search_document", "search_query", "classification", "clustering")
# What AWS calls a refusal, by the status that OpenAI gives it, and with which status.
# https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
ERRORS = {
    400: (400, "ValidationException"),
    401: (403, "AccessDeniedException"),
    404: (404, "ResourceNotFoundException"),
    413: (400, "ValidationException"),
    429: (429, "ThrottlingException"),
    500: (500, "InternalServerException"),
    503: (503, "ServiceUnavailableException"),
}


def parse_invocation(body: bytes, *, model_id: str) -> EmbeddingsRequest:
    """Return the request, or raise what Bedrock would refuse it with."""
    model = next((name for name in DIMENSIONS if model_id in (name, *_profiles(name))), None)
    if model is None:
        raise ApiError(404, f"Could not resolve the foundation model from {model_id!r}.")
    fields = json_object(body)
    is_titan = model == TITAN
    inputs = [fields.get("inputText")] if is_titan else fields.get("texts")
    if not isinstance(inputs, list) or not 1 <= len(inputs) <= MOST_TEXTS:
        raise _malformed(f"#/texts: expected 1 to {MOST_TEXTS} items")
    if not is_titan and fields.get("input_type") not in ROLES:
        raise _malformed(f"#/input_type: expected one of {', '.join(ROLES)}")
    for number, text in enumerate(inputs):
        check_text(text, number)
        if len(text) > LONGEST_TEXT.get(model, LONGEST_OF_V3):
            raise _malformed(f"#/texts/{number}: expected maxLength: {LONGEST_OF_V3}")
    return EmbeddingsRequest(
        model=model_id,
        inputs=tuple(inputs),
        dimensions=_dimensions(fields, model),
        base64=False,
        tokens=sum(map(count_tokens, inputs)),
    )


def computed(inputs: Sequence[str], dimensions: int, vectors: "Vectors") -> NDArray[np.float32]:
    """Return the vectors of any length: the first numbers of longer ones where need be."""
    made = vectors.embed(inputs, max(dimensions, vectors.fewest_dimensions))[:, :dimensions]
    lengths: NDArray[np.float32] = np.linalg.norm(made, axis=1, keepdims=True)
    return made / lengths


def invocation_answer(
    request: EmbeddingsRequest,
    vectors: NDArray[np.float32],
    _: Mapping[str, str],
    kind: FaultKind | None = None,
) -> Response:
    """Return the vectors in the form of the model's family; a fault changes some of it."""
    # Their order says which text they are of.
    rows = vectors.tolist() if kind in WITH_INDEXES else changed(vectors, kind)[1].tolist()
    fields: dict[str, Any] = {
        "id": "0",
        "response_type": "embeddings_by_type",
        "embeddings": {"float": rows},
        "texts": list(request.inputs),
    }
    if request.model == TITAN:
        fields = {"inputTextTokenCount": request.tokens}
        if rows:
            fields |= {"embedding": rows[0], "embeddingsByType": {"float": rows[0]}}
    body = json.dumps(fields).encode()
    if kind is FaultKind.MALFORMED_JSON:
        body = body[: len(body) // 2]
    headers = {TOKEN_COUNT: str(request.tokens)}
    return Response(body, headers=headers, media_type="application/json")


def invocation_error(error: ApiError) -> Response:
    """Return a refusal as AWS writes it."""
    status, name = ERRORS.get(error.status, (error.status, "InternalServerException"))
    if error.error["code"] == "insufficient_quota":
        status, name = 400, "ServiceQuotaExceededException"
    headers: Mapping[str, str] = {**error.headers, "x-amzn-errortype": name}
    return JSONResponse({"message": error.error["message"]}, status, headers)


def _profiles(model: str) -> tuple[str, ...]:
    return tuple(f"{geography}.{model}" for geography in ("us", "eu", "global"))


def _dimensions(fields: Mapping[str, Any], model: str) -> int:
    allowed = DIMENSIONS[model]
    name = "dimensions" if model == TITAN else "output_dimension"
    given = fields.get(name, allowed[0])
    if given not in allowed or (name in fields and len(allowed) == 1):
        raise _malformed(f"#/{name}: {given} is not one of {', '.join(map(str, allowed))}")
    return int(given)


def _malformed(detail: str) -> ApiError:
    return invalid_input(f"Malformed input request: {detail}, please reformat your input.")
