"""Creates the index behind its alias, or brings the existing one up to this version's fields."""

from typing import Any, Protocol

from functions.index_setup.mapping import IndexSpec, MisfitError, check_fit, index_body


class IndexAdmin(Protocol):
    def mapping(self, alias: str) -> dict[str, Any] | None:
        """Return the mapping behind an alias; None where there is no such alias."""

    def create(self, index: str, body: dict[str, Any]) -> None:
        """Create an index; one that another caller has just created is fine."""

    def extend(self, alias: str, properties: dict[str, Any]) -> str | None:
        """Add the fields that the mapping lacks; return why a field was refused."""


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
    return done
