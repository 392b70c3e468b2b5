"""The read alias of a replaced target: moved in one step, and never left without a target."""

from dataclasses import replace
from typing import Any

import pytest

from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchError, OpenSearchHttp
from functions.core.names import first_index, read_alias
from functions.index_setup.ensure import IndexSpec, MisfitError, ensure_index
from functions.index_setup.handler import lambda_handler
from functions.index_setup.migration import AliasRefusedError, AliasRequest, answer, check_end
from tests.handlers.conftest import Context

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
    assert admin.index_behind(alias) == new.index
    assert [admin.index_behind(one.alias) for one in (old, new)] == [old.index, new.index]
    assert admin.index_behind(new.read_alias) == new.index
    for one in (old, new):
        ensure_index(one, admin)
    assert admin.index_behind(alias) == new.index

    answer(AliasRequest(read=old.alias, to=old.alias), admin, both)
    assert admin.index_behind(alias) == old.index


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

    assert admin.index_behind(read_alias(old.alias)) == old.index


def test_alias_that_moved_meanwhile_is_not_moved_again(
    admin: OpenSearchAdmin, old: IndexSpec, new: IndexSpec
) -> None:
    """R44: of two operators one is told; the alias never stands for two indexes."""
    alias = read_alias(old.alias)
    admin.move_alias(alias, before=old.index, after=new.index)

    with pytest.raises(OpenSearchError):
        admin.move_alias(alias, before=old.index, after=old.index)

    assert admin.index_behind(alias) == new.index


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
    """R44: `replaces` is taken away, and both stay."""
    apart = {old.alias: "", new.alias: ""}

    for one in (old, new):
        check_end(one, admin, apart, read_alias(old.alias))


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
    assert admin.index_behind(read_alias(old.alias)) == first_index(new.alias)


def test_index_without_its_alias_has_none(admin: OpenSearchAdmin, old: IndexSpec) -> None:
    """R44: an alias that is not there stands for nothing."""
    missing = replace(old, alias=f"{old.alias}-missing")

    assert admin.index_behind(missing.read_alias) is None
    assert admin.aliases(missing.alias) == frozenset()
