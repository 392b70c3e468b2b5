"""The read alias of a replaced target: moved in one step, and never left without a target."""

from dataclasses import replace
from typing import Any

import pytest

from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchError, OpenSearchHttp
from functions.core.failure import FailureError
from functions.core.names import first_index, read_alias
from functions.index_setup.ensure import IndexSpec, MisfitError, ensure_index
from functions.index_setup.handler import lambda_handler
from functions.index_setup.migration import (
    AliasRefusedError,
    AliasRequest,
    answer,
    check_end,
    keep_own,
)
from tests.handlers.conftest import Context
from tests.unit.adapters.scripted_server import Answer, ScriptedServer

pytestmark = [pytest.mark.engines, pytest.mark.timeout(600)]


@pytest.fixture
def old(alias: str) -> IndexSpec:
    return IndexSpec(alias=f"{alias}-old", model="small", dimensions=4, metadata={})


@pytest.fixture
def new(alias: str) -> IndexSpec:
    return IndexSpec(alias=f"{alias}-new", model="large", dimensions=8, metadata={})


@pytest.fixture
def admin(http: OpenSearchHttp, old: IndexSpec, new: IndexSpec) -> OpenSearchAdmin:
    admin = OpenSearchAdmin(http)
    ensure_index(old, admin)
    ensure_index(new, admin)
    return admin


def pair(old: IndexSpec, new: IndexSpec) -> dict[str, str]:
    return {old.alias: "", new.alias: old.alias}


def test_read_alias_moves_and_comes_back(
    admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44: writers' aliases stay; asking twice changes nothing; the next deployment neither."""
    both = pair(old, new)
    alias = read_alias(old.alias)

    assert answer(AliasRequest(read=old.alias), admin, both)["after"] == old.index
    moved = answer(AliasRequest(read=old.alias, to=new.alias), admin, both)
    assert moved == {"before": old.index, "after": new.index}
    again = answer(AliasRequest(read=old.alias, to=new.alias), admin, both)
    assert again == {"before": new.index, "after": new.index}
    assert admin.indexes_behind(alias) == {new.index}
    assert admin.indexes_behind(old.alias) == {old.index}
    assert admin.indexes_behind(new.alias) == {new.index}
    assert admin.indexes_behind(new.read_alias) == {new.index}
    for one in (old, new):
        ensure_index(one, admin)
    assert admin.indexes_behind(alias) == {new.index}

    answer(AliasRequest(read=old.alias, to=old.alias), admin, both)
    assert admin.indexes_behind(alias) == {old.index}


def switch(admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec) -> None:
    answer(AliasRequest(read=old.alias, to=new.alias), admin, pair(old, new))


def lose(http: OpenSearchHttp, spec: IndexSpec) -> None:
    http.call("DELETE", spec.index)


def test_lost_index_that_is_made_again_takes_no_searches_back(
    http: OpenSearchHttp, admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44 R55: after the switch the alias stands for the new index, and for it alone."""
    switch(admin, old, new)
    lose(http, old)

    assert ensure_index(old, admin) == "created"

    assert admin.indexes_behind(old.read_alias) == {new.index}


@pytest.mark.parametrize("goal", ["old", "new"])
def test_alias_that_stands_for_two_indexes_is_healed_by_a_move(
    http: OpenSearchHttp, admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec, goal: str
) -> None:
    """R44: by a rollback as by a switch; until then no target is said to answer."""
    both, to = pair(old, new), {"old": old, "new": new}[goal]
    http.call("PUT", f"{new.index}/_alias/{old.read_alias}", {})
    two = f"{new.index}, {old.index}"
    assert answer(AliasRequest(read=old.alias), admin, both) == {"before": two, "after": two}

    moved = answer(AliasRequest(read=old.alias, to=to.alias), admin, both)

    assert moved == {"before": two, "after": to.index}
    assert admin.indexes_behind(old.read_alias) == {to.index}


def test_alias_that_was_lost_with_its_index_is_added_by_the_switch(
    http: OpenSearchHttp, admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44: searches find what the new target has; no deployment has to come first."""
    lose(http, old)
    both = pair(old, new)
    nowhere = {"before": None, "after": None}
    assert answer(AliasRequest(read=old.alias), admin, both) == nowhere

    moved = answer(AliasRequest(read=old.alias, to=new.alias), admin, both)

    assert moved == {"before": None, "after": new.index}
    assert admin.indexes_behind(old.read_alias) == {new.index}


def test_alias_is_not_moved_to_an_index_that_is_lost(
    http: OpenSearchHttp, admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44: the rollback is refused in words, and searches stay where they are."""
    switch(admin, old, new)
    lose(http, old)

    with pytest.raises(AliasRefusedError) as caught:
        answer(AliasRequest(read=old.alias, to=old.alias), admin, pair(old, new))

    assert str(caught.value) == (
        f"OpenSearch has no index behind {old.alias}: {old.read_alias} stays where it is"
    )
    assert admin.indexes_behind(old.read_alias) == {new.index}


def test_lost_index_may_get_another_name_before_the_switch(
    http: OpenSearchHttp, admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44 R55: nobody reads by an alias that stands nowhere; while it stands, it is refused."""
    again = replace(old, alias=f"{old.alias}-2")
    ensure_index(again, admin)
    both = pair(again, new)
    for one in (again, new):
        with pytest.raises(MisfitError, match=f"searches by {old.read_alias} do not read"):
            check_end(one, admin, both, old.read_alias)

    lose(http, old)

    for one in (again, new):
        check_end(one, admin, both, old.read_alias)


def test_replaced_target_keeps_its_index_name_after_the_switch(
    http: OpenSearchHttp, admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44: its searches would go from the new target's index to an empty one."""
    switch(admin, old, new)
    lose(http, old)
    again = replace(old, alias=f"{old.alias}-2")
    ensure_index(again, admin)

    with pytest.raises(MisfitError, match=f"read the index of {new.alias}, and would read that of"):
        check_end(again, admin, pair(again, new), old.read_alias)


def test_migration_back_to_the_first_target_can_be_finished(
    admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44 R55: there and back again; the alias of the first one leads to its own index again."""
    switch(admin, old, new)
    check_end(new, admin, {new.alias: ""}, old.read_alias)

    back = pair(new, old)
    ensure_index(old, admin)
    for one in (old, new):
        keep_own(one, admin, back)

    assert admin.indexes_behind(old.read_alias) == {old.index}
    assert admin.indexes_behind(new.read_alias) == {new.index}
    switch(admin, new, old)
    check_end(old, admin, {old.alias: ""}, new.read_alias)
    assert admin.indexes_behind(new.read_alias) == {old.index}


def test_only_a_successor_gets_its_alias_back(
    admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44: a deployment takes no switch back."""
    switch(admin, old, new)

    for one in (old, new):
        keep_own(one, admin, pair(old, new))

    assert admin.indexes_behind(old.read_alias) == {new.index}


@pytest.mark.parametrize("wrong", ["to another", "of the new one", "of another", "not there"])
def test_only_a_pair_of_the_stage_is_moved(
    admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec, wrong: str
) -> None:
    """R44 R84: whatever the caller asks for."""
    requests = {
        "to another": AliasRequest(read=old.alias, to="foreign"),
        "of the new one": AliasRequest(read=new.alias, to=old.alias),
        "of another": AliasRequest(read="foreign", to=new.alias),
        "not there": AliasRequest(read="gone", to=new.alias),
    }
    known = {**pair(old, new), "newer": "gone"}

    with pytest.raises(AliasRefusedError):
        answer(requests[wrong], admin, known)

    assert admin.indexes_behind(read_alias(old.alias)) == {old.index}


def test_alias_that_moved_meanwhile_is_not_moved_again(
    admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44: of two operators one is told; the alias never stands for two indexes."""
    alias = read_alias(old.alias)
    admin.move_alias(alias, before={old.index}, after=new.index)

    with pytest.raises(OpenSearchError):
        admin.move_alias(alias, before={old.index}, after=old.index)

    assert admin.indexes_behind(alias) == {new.index}


def test_target_that_answers_searches_is_not_removed(
    admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44: neither the old one before the switch, nor the new one after it."""
    alias, both = read_alias(old.alias), pair(old, new)
    only_old, only_new = {old.alias: ""}, {new.alias: ""}

    with pytest.raises(MisfitError, match="switch first, with `embedq migrate switch`"):
        check_end(new, admin, only_new, alias)
    check_end(old, admin, only_old, alias)

    answer(AliasRequest(read=old.alias, to=new.alias), admin, both)
    check_end(new, admin, only_new, alias)
    with pytest.raises(MisfitError, match="no target of the stage fills it any more"):
        check_end(old, admin, only_old, alias)


def test_two_targets_that_part_in_peace_are_left_alone(
    admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44: `replaces` is taken away, and both stay, beside a third one: all were named before."""
    apart = {old.alias: "", new.alias: "", "third": ""}

    for one in (old, new):
        check_end(one, admin, apart, read_alias(old.alias))


def test_targets_do_not_part_while_one_answers_for_the_other(
    admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44 R55: nothing would guard the new one any more; the old one goes with `replaces`."""
    switch(admin, old, new)
    apart = {old.alias: "", new.alias: ""}

    with pytest.raises(MisfitError) as caught:
        check_end(old, admin, apart, old.read_alias)

    assert str(caught.value) == (
        f"searches of {old.alias} read the index {new.index}, and the target that fills it would"
        " not replace this one any more: remove this one in the same deployment, as `embedq migrate"
        " finish` says, or let searches read this one again first, with `embedq migrate rollback`"
    )
    check_end(new, admin, {new.alias: ""}, old.read_alias)


@pytest.mark.parametrize("status", [403, 503])
def test_alias_that_may_not_be_asked_for_is_not_taken_for_lost(
    scripted: ScriptedServer, status: int
) -> None:
    """R44 R84: the role names the aliases of the targets that are there."""
    scripted.answers = [Answer(status, b'{"Message": "not authorized"}')] * 9
    admin = OpenSearchAdmin(OpenSearchHttp(scripted.url, credentials=None, region=""))

    if status == 403:
        assert not admin.is_nowhere("gone-read")
    else:
        with pytest.raises((OpenSearchError, FailureError)):
            admin.is_nowhere("gone-read")


@pytest.fixture
def deployed(
    monkeypatch: pytest.MonkeyPatch, opensearch_url: str, old: IndexSpec, new: IndexSpec
) -> None:
    values = {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "INDEX_ENDPOINT": opensearch_url,
        "LEDGER_TABLE": "ledger",
        "INDEXES": f'{{"{old.alias}": "", "{new.alias}": "{old.alias}"}}',
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("deployed")
def test_command_is_answered_by_the_function(
    admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44: what it refuses is an answer, too."""

    def ask(**event: Any) -> Any:
        return lambda_handler(event, Context())

    assert ask(read=old.alias, to=new.alias) == {
        "answer": {"before": old.index, "after": new.index}
    }
    refused = ask(read=new.alias, to=old.alias)["refused"]
    assert (refused["status"], refused["kind"]) == (403, "not_allowed")
    assert admin.indexes_behind(read_alias(old.alias)) == {first_index(new.alias)}


def test_index_without_its_alias_has_none(admin: OpenSearchAdmin, old: IndexSpec) -> None:
    """R44: an alias that is not there stands for nothing."""
    missing = replace(old, alias=f"{old.alias}-missing")

    assert admin.indexes_behind(missing.read_alias) == frozenset()
    assert admin.aliases(missing.alias) == frozenset()
