"""What is sent to a model of Bedrock and what comes back: each family has its own JSON. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from functions.adapters.bedrock_models import base_model
from functions.adapters.provider_answer import checked, decoded, paid_tokens, wrong
from functions.core.failure import FailureError
from functions.core.ports import Embedded
from functions.core.settings import TargetSettings

TOKEN_COUNT = "x-amzn-bedrock-input-token-count"
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def takes_one_text(model_id: str) -> bool:
    """Tell whether a request has a single text."""
    return base_model(model_id).startswith("amazon.")


def request_body(texts: Sequence[str], target: TargetSettings, *, is_query: bool) -> dict[str, Any]:
    """Return the body of a request for documents or for a query."""
    if takes_one_text(target.model):
        [text] = texts
        return {"inputText": text, "dimensions": target.dimensions, "normalize": True}
    body = {
        "texts": list(texts),
        "input_type": "search_query" if is_query else "search_document",
        "embedding_types": ["float"],
        # Nothing is cut off in silence.
        "truncate": "NONE",
    }
    # Models of the third generation refuse the field.
    is_shortened = base_model(target.model) == "cohere.embed-v4:0"
    return body | ({"output_dimension": target.dimensions} if is_shortened else {})


def parse_answer(
    body: bytes, headers: Mapping[str, str], texts: Sequence[str], target: TargetSettings
) -> Embedded:
    """Take nothing on trust: a wrong vector in the index is worse than none."""
    try:
        answer = decoded(body)
        embeddings = _embeddings(answer, is_single=takes_one_text(target.model))
        count = answer.get("inputTextTokenCount", _number(headers.get(TOKEN_COUNT, "")))
    except _UNREADABLE as error:
        raise FailureError(wrong(f"the answer cannot be read ({type(error).__name__})")) from None
    if len(embeddings) != len(texts):
        raise FailureError(wrong(f"{len(embeddings)} vectors came for {len(texts)} texts"))
    results = [checked(embedding, target.dimensions) for embedding in embeddings]
    return Embedded(results, paid_tokens(count, texts))


def _embeddings(answer: Any, *, is_single: bool) -> list[Any]:
    if is_single:
        return [answer["embedding"]]
    # By type where types were asked for; some answers are the plain list all the same.
    found = answer["embeddings"]
    vectors = found["float"] if isinstance(found, dict) else found
    return list(vectors)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None
