"""A stage of cdk.json as one machine runs it: all of it, with other addresses and another model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STAGE = "local"
# Ports differ from start to start. These names, which no network has, stand in the template
# instead, so that one synthesis serves all starts: https://www.rfc-editor.org/rfc/rfc2606
INDEX_PLACEHOLDER = "https://index.invalid"
MODELS_PLACEHOLDER = "https://models.invalid"
MODEL_TOKENS = 200


@dataclass(frozen=True)
class LocalModel:
    """The model that stands in for each target's own."""

    name: str = "all-MiniLM-L6-v2"
    dimensions: int = 384


MINILM = LocalModel()


@dataclass(frozen=True)
class LocalAddresses:
    """Where the engines outside AWS answer."""

    index: str  # OpenSearch
    models: str  # base URL of the embeddings API

    def put_into(self, template: str) -> dict[str, Any]:
        """Replace the placeholders of a synthesized template and parse it."""
        text = template.replace(INDEX_PLACEHOLDER, self.index.rstrip("/"))
        parsed: dict[str, Any] = json.loads(
            text.replace(MODELS_PLACEHOLDER, self.models.rstrip("/"))
        )
        return parsed


def local_stage(stage: Mapping[str, Any], model: LocalModel) -> dict[str, Any]:
    """Change what cannot be the same here, and leave the rest of the stage as deployed."""
    return {
        **stage,
        "sources": {name: _local_source(source) for name, source in stage["sources"].items()},
        "targets": {name: _local_target(found, model) for name, found in stage["targets"].items()},
        "opensearch": {"endpoint": INDEX_PLACEHOLDER},
        "removal": "destroy",
        "enabled": True,
    }


def _local_source(source: Mapping[str, Any]) -> dict[str, Any]:
    # An existing table is somewhere else: here the stack makes it.
    return {key: value for key, value in source.items() if key != "table"}


def _local_target(target: Mapping[str, Any], model: LocalModel) -> dict[str, Any]:
    elsewhere = ("api_version", "api_key_secret_arn", "api_key_encryption_key_arn")
    return {
        **{key: value for key, value in target.items() if key not in elsewhere},
        "provider": "compatible",
        "base_url": MODELS_PLACEHOLDER,
        "model": model.name,
        "dimensions": model.dimensions,
        # The model reads no more of a text than this.
        "chunk_tokens": min(target.get("chunk_tokens", MODEL_TOKENS), MODEL_TOKENS),
        # One node has no place for a copy.
        "replicas": 0,
    }
