"""The languages that the server speaks: OpenAI's, with Azure's paths, and Amazon Bedrock's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from local.provider.answers import answer
from local.provider.bedrock import (
    computed,
    invocation_answer,
    invocation_error,
    parse_invocation,
)
from local.provider.errors import ApiError
from local.provider.faults import FaultKind
from local.provider.request import EmbeddingsRequest, parse_request
from local.provider.vectors import Vectors

Array: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Dialect:
    """How a request is read, and how its answer or its refusal is written."""

    parse: Callable[[Request, bytes, Vectors], EmbeddingsRequest]
    vectors: Callable[[Sequence[str], int, Vectors], Array]
    answer: Callable[[EmbeddingsRequest, Array, Mapping[str, str], FaultKind | None], Response]
    refusal: Callable[[ApiError], Response]
    has_key: bool


def _parse_openai(request: Request, body: bytes, vectors: Vectors) -> EmbeddingsRequest:
    return parse_request(body, deployment=request.path_params.get("deployment"), vectors=vectors)


def _parse_bedrock(request: Request, body: bytes, _: Vectors) -> EmbeddingsRequest:
    return parse_invocation(body, model_id=request.path_params["model_id"])


OPENAI = Dialect(
    parse=_parse_openai,
    vectors=lambda inputs, dimensions, vectors: vectors.embed(inputs, dimensions),
    answer=answer,
    refusal=ApiError.response,
    has_key=True,
)
BEDROCK = Dialect(
    parse=_parse_bedrock,
    vectors=computed,
    answer=invocation_answer,
    refusal=invocation_error,
    has_key=False,
)
