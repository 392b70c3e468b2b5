"""The read alias of a target that another one replaces: moved by commands, guarded at deployments.

No deployment moves it. One that would leave it at an index without a target, or would remove the
target that searches still read, is refused.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from functions.core.frozen import Frozen
from functions.core.names import first_index, read_alias
from functions.index_setup.ensure import IndexSpec, MisfitError


class AliasAdmin(Protocol):
    def index_behind(self, alias: str) -> str | None:
        """Return the index that an alias stands for; None where there is no such alias."""

    def aliases(self, alias: str) -> frozenset[str]:
        """Return all aliases of the index behind an alias."""

    def move_alias(self, alias: str, *, before: str, after: str) -> None:
        """Let an alias stand for another index, in one step; fail if it has moved meanwhile."""


class AliasRequest(Frozen):
    """A command's request: where searches of an index are to be answered; nothing: only asked."""

    read: str
    to: str | None = None


class AliasRefusedError(Exception):
    """A request for what is no migration of this stage."""


def answer(request: AliasRequest, admin: AliasAdmin, replaced: Mapping[str, str]) -> dict[str, Any]:
    """Move the read alias of an index that another one replaces; return where it was and is.

    `replaced` has the index of each target, and of the one that it replaces, or nothing.
    """
    pair = {request.read, *(new for new, old in replaced.items() if old == request.read)}
    if len(pair) == 1 or request.to not in {None, *pair}:
        named = f"{request.read} -> {request.to}" if request.to else request.read
        raise AliasRefusedError(f"{named}: no target of this stage replaces another one so")
    alias = read_alias(request.read)
    before = admin.index_behind(alias)
    if before is None:
        raise AliasRefusedError(f"OpenSearch has no alias {alias}: deploy the stage again")
    after = first_index(request.to) if request.to else before
    if after != before:
        admin.move_alias(alias, before=before, after=after)
    return {"before": before, "after": after}


def check_end(spec: IndexSpec, admin: AliasAdmin, replaced: Mapping[str, str], alias: str) -> None:
    """Refuse a deployment after which searches would find nothing, or not all.

    `alias` is the read alias that the target had together with another one until now.
    """
    behind = admin.index_behind(spec.read_alias)
    if behind is not None and behind not in map(first_index, replaced):
        raise MisfitError(
            f"searches of {spec.alias} read the index {behind}, and no target of the stage fills"
            " it any more: keep that target, or let searches read this one again first, with"
            " `embedq migrate rollback`"
        )
    # While the other one is there, it is the one that is asked.
    is_gone = alias not in {spec.read_alias, *map(read_alias, replaced)}
    if is_gone and alias not in admin.aliases(spec.alias):
        raise MisfitError(
            f"searches by {alias} do not read the index of {spec.alias} yet, and the target that"
            " they read would be removed: switch first, with `embedq migrate switch`, or remove"
            " the new target instead"
        )
