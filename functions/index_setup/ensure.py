"""Creates the index behind its alias, or makes sure that the existing one fits."""

from typing import Any, Protocol

from functions.index_setup.mapping import (
    IndexSpec,
    MisfitError,
    check_fit,
    index_body,
    metadata_properties,
)


class IndexAdmin(Protocol):
    def mapping(self, alias: str) -> dict[str, Any] | None:
        """Return the mapping behind an alias; None where there is no such alias."""

    def create(self, index: str, body: dict[str, Any]) -> None:
        """Create an index; one that another caller has just created is fine."""

    def add_metadata(self, alias: str, properties: dict[str, Any]) -> None:
        """Add metadata fields to the mapping."""


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
    admin.add_metadata(spec.alias, metadata_properties(spec.metadata))
    return done
