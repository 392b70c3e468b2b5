"""The embedding models of Amazon Bedrock, and what each takes: no SDK, so that synth needs none.

A model is called by its id, or by that of an inference profile: a geography before the id.
"""

from dataclasses import dataclass

from functions.core.ports import ProviderLimits

# https://docs.aws.amazon.com/bedrock/latest/userguide/global-cross-region-inference.html
GLOBAL = "global"
# The regions in which an inference profile of a geography may call its model: all that there are,
# as AWS adds some to a profile. That of the world names none.
PROFILE_REGIONS = {
    "us": ("us-east-1", "us-east-2", "us-west-1", "us-west-2"),
    "eu": (
        "eu-central-1",
        "eu-central-2",
        "eu-north-1",
        "eu-south-1",
        "eu-south-2",
        "eu-west-1",
        "eu-west-2",
        "eu-west-3",
    ),
}


@dataclass(frozen=True)
class BedrockModel:
    """A model, and how it may be called."""

    limits: ProviderLimits
    dimensions: tuple[int, ...]  # that its vectors can have, the usual number first
    profiles: tuple[str, ...] = ()  # geographies with an inference profile


# https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed-v3.html
_COHERE_V3 = BedrockModel(
    ProviderLimits(
        inputs_per_request=96,
        tokens_per_request=96 * 512,
        tokens_per_input=512,
        bytes_per_token=4,
        # Characters, in fact: a text of so many bytes has at most as many.
        bytes_per_input=2048,
    ),
    dimensions=(1024,),
)
MODELS = {
    # https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed-v4.html
    "cohere.embed-v4:0": BedrockModel(
        ProviderLimits(
            inputs_per_request=96,
            tokens_per_request=128_000,
            tokens_per_input=128_000,
            bytes_per_token=4,
        ),
        dimensions=(1536, 256, 512, 1024),
        profiles=("us", "eu", GLOBAL),
    ),
    "cohere.embed-english-v3": _COHERE_V3,
    "cohere.embed-multilingual-v3": _COHERE_V3,
    # https://docs.aws.amazon.com/bedrock/latest/userguide/titan-embedding-models.html
    "amazon.titan-embed-text-v2:0": BedrockModel(
        ProviderLimits(
            # It takes one text: the adapter sends so many requests, several at once.
            inputs_per_request=32,
            tokens_per_request=65_536,
            tokens_per_input=8192,
            bytes_per_token=4,
            bytes_per_input=50_000,
        ),
        dimensions=(1024, 256, 512),
    ),
}
# As a stage may name them.
MODEL_IDS = tuple(
    f"{profile}.{name}" if profile else name
    for name, model in MODELS.items()
    for profile in ("", *model.profiles)
)


def base_model(model_id: str) -> str:
    """Return the id of the model itself, without that of an inference profile."""
    profile = profile_of(model_id)
    return model_id if profile is None else model_id.removeprefix(f"{profile}.")


def profile_of(model_id: str) -> str | None:
    """Return the geography of an inference profile; None for a model's own id."""
    geography, _, name = model_id.partition(".")
    return geography if name in MODELS else None


def bedrock_model(model_id: str) -> BedrockModel:
    """Return the model that an id of MODEL_IDS means."""
    return MODELS[base_model(model_id)]
