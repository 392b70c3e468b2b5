"""A target's provider -> its adapter. Only this module and the adapters know provider names."""

from collections.abc import Callable

from functions.adapters.openai_embedder import OpenAiEmbedder
from functions.core.ports import Embedder
from functions.core.settings import TargetSettings


def make_embedder(
    target: TargetSettings, api_key: Callable[[bool], str], *, is_query: bool = False
) -> Embedder:
    """Make the embedder of a target's documents or queries; `api_key(True)` reads the key again."""
    adapters = {
        "openai": OpenAiEmbedder,
        "azure": OpenAiEmbedder,
        "compatible": OpenAiEmbedder,
    }
    return adapters[target.provider](target, api_key, is_query=is_query)
