"""The read alias of a target that another one replaces: moved by commands, guarded at deployments.

No deployment moves it. One that would leave it at an index without a target, or would remove the
target that searches still read, is refused. Only the successor's own alias, by which nobody reads
before the switch, is brought back if an earlier migration has left it elsewhere.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

from functions.core.frozen import Frozen
from functions.core.names import first_index, read_alias
from functions.index_setup.ensure import IndexSpec, MisfitError


class AliasAdmin(Protocol):
    def indexes_behind(self, alias: str) -> frozenset[str]:
        """Return the indexes that an alias stands for; none where there is no such alias."""

    def is_nowhere(self, alias: str) -> bool:
        """Tell whether an alias stands for nothing; False also where that may not be asked."""

    def aliases(self, alias: str) -> frozenset[str]:
        """Return all aliases of the index behind an alias."""

    def move_alias(self, alias: str, *, before: Collection[str], after: str) -> None:
        """Let an alias stand for one index alone, in one step; fail if it has moved meanwhile."""


class AliasRequest(Frozen):
    """A command's request: where searches of an index are to be answered; nothing: only asked."""

    read: str
    to: str | None = None


class AliasRefusedError(Exception):
    """A request for what is no migration of this stage."""


def answer(
    request: AliasRequest, admin: AliasAdmin, replaced: Mapping[str, str]
) -> dict[str, str | None]:
    """Move the read alias of an index that another one replaces; return where it was and is.

    `replaced` has the index of each target, and of the one that it replaces, or nothing. The alias
    of a lost index stands for none, and one that a person has put somewhere for several: no search
    is answered by it then, until it is moved.
    """
    pair = {request.read, *_successors(request.read, replaced)}
    if len(pair) == 1 or request.to not in {None, *pair}:
        named = f"{request.read} -> {request.to}" if request.to else request.read
        raise AliasRefusedError(f"{named}: no target of this stage replaces another one so")
    alias = read_alias(request.read)
    behind = admin.indexes_behind(alias)
    before = ", ".join(sorted(behind)) or None
    if request.to is None:
        return {"before": before, "after": before}
    if not admin.indexes_behind(request.to):
        raise AliasRefusedError(
            f"OpenSearch has no index behind {request.to}: {alias} stays where it is"
        )
    after = first_index(request.to)
    _let_stand(alias, behind, after, admin)
    return {"before": before, "after": after}


def guard_searches(
    spec: IndexSpec, admin: AliasAdmin, replaced: Mapping[str, str], was_shared: str | None
) -> None:
    """Refuse what searches cannot bear; then let a successor's own alias stand for its index.

    `was_shared` is the read alias that the target had together with another one until now; None
    where nothing of it changes, or where the target is new.
    """
    if was_shared is not None:
        check_end(spec, admin, replaced, was_shared)
    keep_own(spec, admin, replaced)


def keep_own(spec: IndexSpec, admin: AliasAdmin, replaced: Mapping[str, str]) -> None:
    """Let the read alias of a target that replaces another one stand for its own index.

    An earlier migration, away from this target, has left it at the index of the other one.
    """
    if replaced.get(spec.alias):
        _let_stand(spec.read_alias, admin.indexes_behind(spec.read_alias), spec.index, admin)


def _let_stand(alias: str, behind: frozenset[str], index: str, admin: AliasAdmin) -> None:
    if behind != {index}:
        admin.move_alias(alias, before=behind, after=index)


def _successors(index: str, replaced: Mapping[str, str]) -> set[str]:
    return {new for new, old in replaced.items() if old == index}


def check_end(spec: IndexSpec, admin: AliasAdmin, replaced: Mapping[str, str], alias: str) -> None:
    """Refuse a deployment after which searches would find nothing, or not all.

    `alias` is the read alias that the target had together with another one until now.
    """
    for one in filter(None, (spec.alias, replaced.get(spec.alias))):
        _check_readable(one, admin, replaced)
    if alias not in {spec.read_alias, *map(read_alias, replaced)}:
        _check_taken_over(spec, admin, replaced, alias)
    elif alias != spec.read_alias:
        _check_unnamed(spec, admin, replaced, alias)


def _check_unnamed(
    spec: IndexSpec, admin: AliasAdmin, replaced: Mapping[str, str], alias: str
) -> None:
    """Refuse if searches that name no target would mean another one than that of the alias.

    Beside other targets it is not known whether they meant one before.
    """
    meant = {read_alias(index) for index, old in replaced.items() if not old}
    is_known = meant <= {spec.read_alias, alias}
    if not is_known or meant == {alias} or admin.indexes_behind(alias) == {spec.index}:
        return
    if len(meant) > 1:
        raise MisfitError(
            f"searches that name no target would not know whether {spec.alias} is meant: keep"
            " `replaces` until the migration has ended, with `embedq migrate finish`, or remove"
            " the target with it"
        )
    raise MisfitError(
        f"searches that name no target read by {alias}, and would read the index of {spec.alias},"
        " with which nobody has compared it: keep the direction of `replaces`, and switch with"
        " `embedq migrate switch`"
    )


def _check_readable(index: str, admin: AliasAdmin, replaced: Mapping[str, str]) -> None:
    """Refuse if searches of a target read an index that is neither its own nor its successor's."""
    successors = _successors(index, replaced)
    for behind in sorted(admin.indexes_behind(read_alias(index))):
        if behind in map(first_index, {index, *successors}):
            continue
        reads = f"searches of {index} read the index {behind}, and"
        back = "let searches read this one again first, with `embedq migrate rollback`"
        if behind in map(first_index, replaced):
            raise MisfitError(
                f"{reads} the target that fills it would not replace this one any more: remove"
                f" this one in the same deployment, as `embedq migrate finish` says, or {back}"
            )
        raise MisfitError(
            f"{reads} no target of the stage fills it any more: keep that target, or {back}"
        )


def _check_taken_over(
    spec: IndexSpec, admin: AliasAdmin, replaced: Mapping[str, str], alias: str
) -> None:
    """Refuse if searches by an alias that is left without a target read another index than ours."""
    if alias in admin.aliases(spec.alias) or admin.is_nowhere(alias):
        return
    for other in replaced:
        if alias in admin.aliases(other):
            raise MisfitError(
                f"searches by {alias} read the index of {other}, and would read that of"
                f" {spec.alias}, which is another one: keep the index name until the migration has"
                " ended, with `embedq migrate finish`"
            )
    raise MisfitError(
        f"searches by {alias} do not read the index of {spec.alias} yet, and the target that they"
        " read would be removed: switch first, with `embedq migrate switch`, or remove the new"
        " target instead"
    )
