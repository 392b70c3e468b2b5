"""HTTP body -> EmbeddingsRequest. What OpenAI would refuse is refused here."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local.provider.errors import ApiError, invalid_input

if TYPE_CHECKING:
    from local.provider.vectors import Vectors

# A compatible server answers for any model name; for OpenAI's own their sizes are kept.
OPENAI_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
_FIXED_SIZE_MODEL = "text-embedding-ada-002"
MOST_DIMENSIONS = 16_384
BYTES_PER_TOKEN = 4
# https://platform.openai.com/docs/api-reference/embeddings/create
MOST_INPUTS = 2048
MOST_TOKENS_PER_INPUT = 8192
MOST_TOKENS_PER_REQUEST = 300_000


@dataclass(frozen=True, slots=True)
class EmbeddingsRequest:
    """A request within all limits."""

    model: str
    inputs: tuple[str, ...]
    dimensions: int
    base64: bool
    tokens: int


def count_tokens(text: str) -> int:
    """Return OpenAI's own estimate for its request limit: a quarter of the UTF-8 bytes.

    The true count needs a vocabulary that would have to be downloaded.
    """
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def parse_request(body: bytes, *, deployment: str | None, vectors: "Vectors") -> EmbeddingsRequest:
    """Return the request, or raise the ApiError that OpenAI would answer with."""
    fields = json_object(body)
    model = deployment or fields.get("model")
    if not isinstance(model, str) or not model:
        raise invalid_input("you must provide a model parameter", param="model")
    inputs = _inputs(fields.get("input"))
    encoding = fields.get("encoding_format") or "float"
    if encoding not in ("float", "base64"):
        raise invalid_input(
            f"Invalid value: {encoding!r}. Supported values are: 'float' and 'base64'.",
            param="encoding_format",
        )
    return EmbeddingsRequest(
        model=model,
        inputs=inputs,
        dimensions=_dimensions(fields.get("dimensions"), model, vectors),
        base64=encoding == "base64",
        tokens=_tokens(inputs),
    )


def json_object(body: bytes) -> dict[str, Any]:
    """Parse a body that is an object."""
    try:
        fields = json.loads(body)
    except ValueError as error:
        message = "We could not parse the JSON body of your request."
        raise invalid_input(message, param=None) from error
    if not isinstance(fields, dict):
        raise invalid_input("The body of your request must be a JSON object.", param=None)
    return fields


def _inputs(given: object) -> tuple[str, ...]:
    inputs = [given] if isinstance(given, str) else given
    if not isinstance(inputs, list) or not inputs:
        raise invalid_input("'input' must be a string or an array of at least one string.")
    if len(inputs) > MOST_INPUTS:
        raise ApiError(
            400,
            f"Invalid 'input': array too long. Expected an array with maximum length"
            f" {MOST_INPUTS}, but got an array with length {len(inputs)} instead.",
            param="input",
            code="array_above_max_length",
        )
    for number, text in enumerate(inputs):
        check_text(text, number)
    return tuple(inputs)


def check_text(text: object, number: int) -> None:
    """Refuse what is no text, or an empty one."""
    if not isinstance(text, str):
        raise invalid_input(f"'input[{number}]' is not a string. Token arrays are not served here.")
    if not text:
        raise invalid_input(f"'input[{number}]' is invalid: it cannot be an empty string.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"'input[{number}]' is invalid: it holds half of a surrogate pair."
        raise invalid_input(message) from error


def _tokens(inputs: tuple[str, ...]) -> int:
    counts = [count_tokens(text) for text in inputs]
    for count in counts:
        if count > MOST_TOKENS_PER_INPUT:
            raise ApiError(
                400,
                f"This model's maximum context length is {MOST_TOKENS_PER_INPUT} tokens, however"
                f" you requested {count} tokens ({count} in your prompt; 0 for the completion)."
                " Please reduce your prompt; or completion length.",
            )
    if sum(counts) > MOST_TOKENS_PER_REQUEST:
        raise ApiError(
            400,
            f"Requested {sum(counts)} tokens, max {MOST_TOKENS_PER_REQUEST} tokens per request",
            kind="max_tokens_per_request",
            code="max_tokens_per_request",
        )
    return sum(counts)


def _dimensions(given: object, model: str, vectors: "Vectors") -> int:
    if given is None:
        return OPENAI_DIMENSIONS.get(model, vectors.usual_dimensions)
    if model == _FIXED_SIZE_MODEL:
        raise invalid_input("This model does not support specifying dimensions.", param=None)
    most = OPENAI_DIMENSIONS.get(model, MOST_DIMENSIONS)
    fewest = vectors.fewest_dimensions
    # A boolean is an integer to Python, not to the API.
    if not isinstance(given, int) or isinstance(given, bool) or not fewest <= given <= most:
        raise invalid_input(
            f"Invalid value for 'dimensions' = {given}. Must be an integer from {fewest} to {most}"
            " with this server and model.",
            param="dimensions",
        )
    return given
