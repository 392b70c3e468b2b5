"""What goes with the provider of a target: its address, its model, its own settings and limits."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from functions.adapters.bedrock_models import MODEL_IDS, bedrock_model
from functions.adapters.openai_limits import LIMITS, MODEL_DIMENSIONS, sends_dimensions
from functions.core.ports import ProviderLimits
from functions.core.settings import TargetOptions
from infrastructure.config.address import address_mistakes
from infrastructure.config.mistakes import Mistake, did_you_mean, with_question

if TYPE_CHECKING:
    from infrastructure.config.target import TargetConfig

# Fields of a request that have a setting of their own, or none.
OWN_FIELDS = {
    "model": "the setting model",
    "input": "each request has its own texts",
    "dimensions": "the settings dimensions and send_dimensions",
    "encoding_format": "the setting encoding_format",
}
# Settings stand in the template and in the function's environment: a secret must not.
OWN_HEADERS = (
    "authorization",
    "proxy-authorization",
    "api-key",
    "x-api-key",
    "x-goog-api-key",
    "cookie",
    "host",
    "connection",
    "content-type",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "accept-encoding",
)
# Bedrock asks by IAM, and its adapter knows what each model is sent.
NOT_FOR_BEDROCK = {
    "api_key_secret_arn": "IAM is asked instead of a key: leave it out",
    "api_key_encryption_key_arn": "IAM is asked instead of a key: leave it out",
    "headers": "its requests are signed: leave it out",
    "encoding_format": "each model has its own format: leave it out",
    "send_dimensions": "dimensions are sent where the model takes them: leave it out",
    "document_extra_body": "the role is sent by itself: leave it out",
    "query_extra_body": "the role is sent by itself: leave it out",
}


def limits_of(target: TargetOptions) -> ProviderLimits:
    """Return what a request of the target may hold."""
    is_known = target.provider == "bedrock" and target.model in MODEL_IDS
    return bedrock_model(target.model).limits if is_known else LIMITS


def usual_dimensions(target: "TargetConfig") -> int:
    """Return the dimensions of a model that is known; 0 for another one."""
    if target.provider == "bedrock":
        return bedrock_model(target.model).dimensions[0] if target.model in MODEL_IDS else 0
    return MODEL_DIMENSIONS.get(target.model, 0)


def provider_mistakes(target: "TargetConfig") -> Iterator[Mistake]:
    """Find settings that the provider lacks, or that do not go with it."""
    if target.base_url is None and target.provider in ("azure", "compatible"):
        yield Mistake(("base_url",), "is missing", f"provider {target.provider} needs an address")
    if target.base_url is not None and (
        wrong := address_mistakes(target.base_url, path_allowed=True)
    ):
        yield Mistake(("base_url",), wrong, "an https address (http only for localhost)")
    if (target.api_version is None) == (target.provider == "azure"):
        wrong = "is missing" if target.provider == "azure" else "does not go with this provider"
        yield Mistake(("api_version",), wrong, "provider azure needs it, others not")
    if target.api_key_encryption_key_arn is not None and target.api_key_secret_arn is None:
        wrong = "does not go with a secret that the stack makes"
        yield Mistake(("api_key_encryption_key_arn",), wrong, "only with api_key_secret_arn")
    if target.region is not None and target.provider != "bedrock":
        wrong = "does not go with this provider"
        yield Mistake(("region",), wrong, "only with provider bedrock")
    if target.provider == "bedrock":
        yield from _bedrock_mistakes(target)


def _bedrock_mistakes(target: "TargetConfig") -> Iterator[Mistake]:
    for setting in sorted(target.model_fields_set & NOT_FOR_BEDROCK.keys()):
        yield Mistake((setting,), "does not go with bedrock", NOT_FOR_BEDROCK[setting])
    limit = limits_of(target).bytes_per_input
    size = target.chunk_tokens * target.max_bytes_per_token
    if limit is not None and size > limit:
        wrong = f"{target.chunk_tokens} tokens of {target.max_bytes_per_token} bytes are {size}"
        allowed = f"chunk_tokens times max_bytes_per_token at most {limit} for {target.model}"
        yield Mistake(("chunk_tokens",), wrong, allowed)


def token_mistakes(target: "TargetConfig") -> Iterator[Mistake]:
    """Find sizes of chunks and requests that the provider does not take."""
    limits, tokens = limits_of(target), target.request_tokens
    if target.chunk_tokens > limits.tokens_per_input:
        wrong = f"{target.chunk_tokens} is more than the provider takes as one input"
        yield Mistake(("chunk_tokens",), wrong, f"16 to {limits.tokens_per_input}")
    if not target.chunk_tokens <= tokens <= limits.tokens_per_request:
        is_small = tokens < target.chunk_tokens
        reason = "holds not even one chunk" if is_small else "is more than the provider takes"
        allowed = f"{target.chunk_tokens} (chunk_tokens) to {limits.tokens_per_request}"
        yield Mistake(("tokens_per_request",), f"{tokens} {reason}", allowed)
    # The provider answers such a request with 429 for ever: waiting never helps.
    if target.tokens_per_minute is not None and target.tokens_per_minute < tokens:
        wrong = f"{target.tokens_per_minute} is less than one request may hold"
        allowed = f"at least {tokens}, or a smaller tokens_per_request"
        yield Mistake(("tokens_per_minute",), wrong, allowed)


def request_mistakes(target: "TargetConfig") -> Iterator[Mistake]:
    """Find what a request may not have."""
    most = limits_of(target).inputs_per_request
    if (target.inputs_per_request or 1) > most:
        wrong = f"{target.inputs_per_request} is more than the provider takes"
        yield Mistake(("inputs_per_request",), wrong, f"1 to {most}")
    for setting in ("document_extra_body", "query_extra_body"):
        for field in sorted(getattr(target, setting).keys() & OWN_FIELDS.keys()):
            wrong = "does not go into an extra body"
            yield Mistake((setting, field), wrong, OWN_FIELDS[field])
    for name in target.headers:
        if name.lower() in OWN_HEADERS:
            wrong = "is no header to set: it holds a secret, or belongs to the connection"
            rule = "the key comes from the secret (api_key_secret_arn)"
            yield Mistake(("headers", name), wrong, rule)


def dimension_mistakes(target: "TargetConfig") -> Iterator[Mistake]:
    """Find an unknown model, or vectors that it does not make."""
    if target.provider == "bedrock":
        yield from _bedrock_dimension_mistakes(target)
        return
    if target.model not in MODEL_DIMENSIONS and target.provider == "openai":
        rule = f"{', '.join(MODEL_DIMENSIONS)}, or another one with provider compatible"
        allowed = with_question(rule, did_you_mean(target.model, MODEL_DIMENSIONS))
        yield Mistake(("model",), f'"{target.model}" is no embedding model of OpenAI', allowed)
    elif target.model not in MODEL_DIMENSIONS:
        if target.dimensions is None:
            allowed = f"the length of a vector of {target.model}, 1 to 16000"
            yield Mistake(("dimensions",), "is missing", allowed)
    else:
        length, given = MODEL_DIMENSIONS[target.model], target.vector_dimensions
        shortens = sends_dimensions(target)
        if given > length or (given < length and not shortens):
            allowed = f"1 to {length}" if shortens else f"only {length}"
            where = "" if target.provider == "openai" else f" of provider {target.provider}"
            wrong = f"{given} is not allowed"
            yield Mistake(("dimensions",), wrong, f"{target.model}{where}: {allowed}")


def _bedrock_dimension_mistakes(target: "TargetConfig") -> Iterator[Mistake]:
    if target.model not in MODEL_IDS:
        wrong = f'"{target.model}" is no embedding model of Bedrock that is known here'
        allowed = with_question(", ".join(MODEL_IDS), did_you_mean(target.model, MODEL_IDS))
        yield Mistake(("model",), wrong, allowed)
        return
    allowed_lengths = sorted(bedrock_model(target.model).dimensions)
    if target.vector_dimensions not in allowed_lengths:
        rule = f"{target.model}: {', '.join(map(str, allowed_lengths))}"
        yield Mistake(("dimensions",), f"{target.vector_dimensions} is not allowed", rule)
