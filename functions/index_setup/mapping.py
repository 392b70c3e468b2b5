"""Model, dimensions and metadata -> the index's mapping, and whether an existing one fits. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from functions.core.settings import MetadataType

# A longer term than 32,766 bytes is refused: such a value is kept, but not filtered by.
KEYWORD_CHARACTERS = 8000


class MisfitError(Exception):
    """The existing index holds something else than what the target asks for."""


@dataclass(frozen=True)
class IndexSpec:
    """The index that a target needs."""

    alias: str
    model: str
    dimensions: int
    metadata: Mapping[str, MetadataType]
    shards: int = 1
    replicas: int = 0

    @property
    def index(self) -> str:
        return f"{self.alias}-1"


def index_body(spec: IndexSpec) -> dict[str, Any]:
    """Describe a new index."""
    return {
        "settings": {
            "index": {
                "knn": True,
                "number_of_shards": spec.shards,
                "number_of_replicas": spec.replicas,
            }
        },
        "aliases": {spec.alias: {"is_write_index": True}},
        "mappings": {
            "dynamic": False,
            "_meta": {"model": spec.model, "dimensions": spec.dimensions},
            "properties": {
                "source": {"type": "keyword"},
                "document_id": {"type": "keyword"},
                "type": {"type": "keyword"},
                "deleted": {"type": "boolean"},
                "written_ms": {"type": "date", "format": "epoch_millis"},
                "chunks_failed": {"type": "integer"},
                "content_hash": {"type": "keyword", "index": False},
                "reason": {"type": "keyword", "index": False, "doc_values": False},
                "metadata": {"dynamic": False, "properties": metadata_properties(spec.metadata)},
                "chunks": {
                    "type": "nested",
                    "properties": {
                        "text": {"type": "text"},
                        "hash": {"type": "keyword", "index": False, "doc_values": False},
                        "vector": {
                            "type": "knn_vector",
                            "dimension": spec.dimensions,
                            # lucene filters while it searches, and runs on one machine too.
                            "method": {
                                "name": "hnsw",
                                "engine": "lucene",
                                "space_type": "cosinesimil",
                            },
                        },
                    },
                },
            },
        },
    }


def metadata_properties(metadata: Mapping[str, MetadataType]) -> dict[str, Any]:
    """Describe the typed fields that a search can filter by."""
    return {name: _property(kind) for name, kind in metadata.items()}


def check_fit(spec: IndexSpec, mapping: Mapping[str, Any]) -> None:
    """Refuse an index that other vectors or other types live in."""
    properties = mapping.get("properties", {})
    vector = properties.get("chunks", {}).get("properties", {}).get("vector", {})
    dimensions = vector.get("dimension")
    if dimensions != spec.dimensions:
        raise MisfitError(
            f"index {spec.alias} holds vectors of {dimensions} dimensions, the target asks for "
            f"{spec.dimensions}: give the new model a target of its own, or another index name"
        )
    model = mapping.get("_meta", {}).get("model")
    if model != spec.model:
        raise MisfitError(
            f"index {spec.alias} holds vectors of model {model}, the target asks for "
            f"{spec.model}: give the new model a target of its own, or another index name"
        )
    fields = properties.get("metadata", {}).get("properties", {})
    for name, kind in spec.metadata.items():
        found = fields.get(name, {}).get("type", kind)
        if found != kind:
            raise MisfitError(
                f"index {spec.alias} has metadata field {name} as {found}, the sources ask for "
                f"{kind}: use another field name, or another index name"
            )


def _property(kind: MetadataType) -> dict[str, Any]:
    if kind == "keyword":
        return {"type": kind, "ignore_above": KEYWORD_CHARACTERS}
    if kind == "date":
        return {"type": kind, "format": "strict_date_optional_time||epoch_millis"}
    return {"type": kind}
