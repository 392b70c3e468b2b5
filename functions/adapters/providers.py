"""A target's provider -> its adapter. Of the functions, only the adapters know any by its name."""

from collections.abc import Callable
from typing import Any

import boto3

from functions.core.ports import Embedder
from functions.core.settings import TargetSettings


def make_embedder(
    target: TargetSettings,
    api_key: Callable[[bool], str],
    *,
    is_query: bool = False,
    client: Callable[..., Any] = boto3.client,
) -> Embedder:
    """Make the embedder of a target's documents or queries.

    `api_key(True)` reads the key again; `client` makes the AWS clients of a session, for providers
    that ask by IAM instead of a key.
    """
    # A cold start imports the SDK of its own provider only: openai's takes a second of it.
    if target.provider == "bedrock":
        from functions.adapters.bedrock_embedder import BedrockEmbedder

        return BedrockEmbedder(target, client, is_query=is_query)
    from functions.adapters.openai_embedder import OpenAiEmbedder

    return OpenAiEmbedder(target, api_key, is_query=is_query)
