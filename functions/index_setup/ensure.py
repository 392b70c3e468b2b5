"""Creates the index behind its alias, or brings the existing one up to this version's fields."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from functions.core.entry_shape import properties
from functions.core.names import first_index, read_alias
from functions.core.settings import MetadataType, VectorCompression

Fields = Mapping[str, Mapping[str, Any]]


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
    compression: VectorCompression = "none"

    @property
    def index(self) -> str:
        return first_index(self.alias)

    @property
    def read_alias(self) -> str:
        return read_alias(self.alias)

    @property
    def properties(self) -> dict[str, Any]:
        return properties(
            dimensions=self.dimensions, metadata=self.metadata, compression=self.compression
        )

    @property
    def meta(self) -> dict[str, Any]:
        """Say what the vectors are, in the index itself."""
        return {
            "model": self.model,
            "dimensions": self.dimensions,
            "compression": self.compression,
        }


class IndexAdmin(Protocol):
    def mapping(self, alias: str) -> dict[str, Any] | None:
        """Return the mapping behind an alias; None where there is no such alias."""

    def create(self, index: str, body: dict[str, Any]) -> None:
        """Create an index; one that another caller has just created is fine."""

    def extend(self, alias: str, properties: dict[str, Any]) -> str | None:
        """Add the fields that the mapping lacks; return why a field was refused."""

    def add_alias(self, alias: str, index: str) -> None:
        """Let an alias stand for an index, unless it stands for one already."""

    def sizes(self, alias: str) -> tuple[int, int]:
        """Return the shards and the replicas of the index behind an alias."""

    def set_replicas(self, alias: str, replicas: int) -> None:
        """Change the number of replicas, which OpenSearch does while it serves."""


def ensure_index(spec: IndexSpec, admin: IndexAdmin) -> str:
    """Bring the index to what the target needs; return what was done."""
    mapping = admin.mapping(spec.alias)
    if mapping is None:
        admin.create(spec.index, index_body(spec))
        mapping = admin.mapping(spec.alias)
        done = "created"
    else:
        done = "checked"
    if mapping is None:
        raise MisfitError(
            f"index {spec.index} exists without the alias {spec.alias}: add the alias to it, or "
            "use another index name"
        )
    check_fit(spec, mapping)
    # Always all of them: OpenSearch adds what is new, and finds every other conflict.
    refused = admin.extend(spec.alias, spec.properties)
    if refused is not None:
        raise MisfitError(
            f"index {spec.alias} cannot take the fields of this version: {refused}: use another "
            "index name, and fill it from the sources"
        )
    # Not with the index: where a switch has moved it, it would stand for both then.
    admin.add_alias(spec.read_alias, spec.index)
    _set_sizes(spec, admin)
    return done


def _set_sizes(spec: IndexSpec, admin: IndexAdmin) -> None:
    shards, replicas = admin.sizes(spec.alias)
    if shards != spec.shards:
        raise MisfitError(
            f"index {spec.alias} has {shards} shards, the target asks for {spec.shards}, and "
            f"OpenSearch cannot change them: set shards to {shards}, or fill a second target with "
            "an index of its own from the sources"
        )
    if replicas != spec.replicas:
        admin.set_replicas(spec.alias, spec.replicas)


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
            "_meta": spec.meta,
            "properties": spec.properties,
        },
    }


def check_fit(spec: IndexSpec, mapping: Mapping[str, Any]) -> None:
    """Refuse an index with vectors of another model, or with fields of other types."""
    existing = dict(_walk(mapping.get("properties", {})))
    wanted = dict(_walk(spec.properties))
    [vector] = [path for path, field in wanted.items() if "dimension" in field]
    dimensions = existing.get(vector, {}).get("dimension")
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
    # An index of an earlier version says nothing of it, and has whole vectors.
    compression = mapping.get("_meta", {}).get("compression", "none")
    if compression != spec.compression:
        raise MisfitError(
            f"index {spec.alias} holds vectors with compression {compression}, the target asks for "
            f"{spec.compression}, and OpenSearch cannot change it: set compression to "
            f"{compression}, or fill a second target with an index of its own from the sources"
        )
    for path, field in wanted.items():
        # OpenSearch names the type of an object only while it has no fields.
        found, kind = (one.get("type", "object") for one in (existing.get(path, field), field))
        if found != kind:
            raise MisfitError(
                f"index {spec.alias} has field {path} as {found}, the target asks for {kind}: use "
                "another field name, or another index name"
            )


def _walk(fields: Fields, prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every field with its path; an object has no type, and fields of its own."""
    for name, field in fields.items():
        yield prefix + name, field
        yield from _walk(field.get("properties", {}), f"{prefix}{name}.")
