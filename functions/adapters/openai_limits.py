"""What OpenAI's embedding API takes. Apart from the adapter, so that synth needs no SDK."""

from functions.core.ports import ProviderLimits
from functions.core.settings import TargetOptions

# https://platform.openai.com/docs/api-reference/embeddings/create
LIMITS = ProviderLimits(
    inputs_per_request=2048,
    tokens_per_request=300_000,
    tokens_per_input=8192,
    # Before it counts tokens, OpenAI takes a quarter of the UTF-8 bytes for them.
    bytes_per_token=4,
)
# https://platform.openai.com/docs/models: the dimensions of each model's vectors.
MODEL_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# Models before the third generation refuse the parameter `dimensions`.
FIXED_MODELS = ("text-embedding-ada-002",)


def sends_dimensions(target: TargetOptions) -> bool:
    """Tell whether a request asks for `dimensions`; many compatible providers refuse it."""
    if target.send_dimensions is not None:
        return target.send_dimensions
    return target.provider != "compatible" and target.model not in FIXED_MODELS
