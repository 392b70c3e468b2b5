"""What a person enters into a domain with fine-grained access control, as two requests."""

import json
from collections.abc import Iterator

from functions.core.names import first_index, read_alias
from infrastructure.names import stack_name
from infrastructure.parts import Parts

# What the groups hold: https://docs.opensearch.org/latest/security/access-control/default-action-groups/
_ON_INDEX = (
    "read",
    "write",
    "create_index",
    "indices:admin/aliases",
    "indices:admin/aliases/get",
    "indices:admin/mapping/put",
    "indices:admin/mappings/get",
    "indices:admin/refresh*",
    "indices:admin/settings/update",
    "indices:monitor/settings/get",
)


def role_mapping(parts: Parts) -> Iterator[tuple[str, str]]:
    """Yield two outputs of a stage with an existing domain, and none of others."""
    if parts.config.opensearch.domain_arn is None:
        return
    role = stack_name(parts.stage)
    aliases = [target.index for target in parts.settings.targets.values()]
    allowed = {
        "cluster_permissions": ["cluster_composite_ops"],
        "index_permissions": [
            {
                # Rights count for the index behind an alias.
                "index_patterns": [
                    name
                    for alias in aliases
                    for name in (alias, first_index(alias), read_alias(alias))
                ],
                "allowed_actions": _ON_INDEX,
            }
        ],
    }
    asking = [parts.sweep, parts.backfill, parts.stores.index.setup, parts.query, parts.search]
    callers = [*parts.embeds.values(), *asking]
    mapped = {"backend_roles": [function.role.role_arn for function in callers]}
    yield "IndexRole", f"PUT _plugins/_security/api/roles/{role} {json.dumps(allowed)}"
    yield "IndexRoleMapping", f"PUT _plugins/_security/api/rolesmapping/{role} {json.dumps(mapped)}"
