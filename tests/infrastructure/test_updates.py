"""What an update does with a deployed stage, change by change: docs/updates.md."""

from dataclasses import replace

import pytest

from scripts.template_difference import Effect
from scripts.updates import CHANGES, to
from scripts.updates_doc import PATH, Update, update, updates_page

# Forty stages are synthesized.
pytestmark = pytest.mark.timeout(600)
# What is made again from the ledger or from the settings.
REPLACEABLE = {"AWS::Lambda::EventSourceMapping", "AWS::SNS::Subscription"}
HOLDERS = {
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::OpenSearchService::Domain",
    "AWS::SecretsManager::Secret",
    "AWS::Logs::LogGroup",
    "AWS::KMS::Key",
    "AWS::SQS::Queue",
    "Custom::EmbedqIndex",
}


@pytest.fixture(scope="session")
def updates() -> list[Update]:
    """Judge every change, once."""
    return [update(change) for change in CHANGES]


def of(updates: list[Update], name: str) -> Update:
    """Return the update of one change."""
    [found] = [one for one in updates if one.change.name == name]
    return found


def test_page_is_what_the_templates_say(updates: list[Update]) -> None:
    """R55 R01: `make docs` writes it."""
    assert PATH.read_text() == updates_page(updates)


def test_no_update_of_a_kept_stage_deletes_data(updates: list[Update]) -> None:
    """R55: only lanes go, whose tasks are in the ledger."""
    lost = {
        one.name
        for found in updates
        for one in found.differences
        if one.effect in (Effect.DELETES, Effect.REPLACES) and one.kind in HOLDERS
    }

    assert {name for name in lost if "Lanes" not in name or "DeadLetters" in name} == set()
    assert any("LanesSequential" in name for name in lost)


def test_nothing_with_a_fixed_name_is_replaced(updates: list[Update]) -> None:
    """R55: the new one would find the name taken. A domain keeps its key, which the page says."""
    refused = {
        one.name
        for found in updates
        for one in found.differences
        if one.is_refused and one.effect is not Effect.ADDS and "KMS key" not in found.change.name
    }

    assert refused == set()


def test_what_does_not_fit_the_deployed_stage_is_refused(updates: list[Update]) -> None:
    """R55: by index_setup, in its words, or by AWS; what is refused changes nothing."""
    refused = {
        found.change.name: found.refusals[0].split(":")[0] for found in updates if found.refusals
    }

    assert refused == {
        "a source is renamed and keeps its table, by `table`": "by AWS",
        "a target comes back that was removed": "by AWS",
        "another type of a metadata field": "by index_setup",
        "another model": "by index_setup",
        "other dimensions": "by index_setup",
        "other shards": "by index_setup",
        "another compression": "by index_setup",
        "an older version of the domain": "by AWS",
        "the stage goes into a VPC, with the domain that the stack made": "by AWS",
        "a KMS key of your own, with the domain that the stack made": "by AWS",
    }


def test_index_is_made_wherever_the_stage_goes(updates: list[Update]) -> None:
    """R55: another domain calls index_setup, although nothing else about the index changes."""
    for name in (
        "another existing domain",
        "an existing domain instead of the one that the stack made",
    ):
        found = {one.kind: one.effect for one in of(updates, name).differences}

        assert found["Custom::EmbedqIndex"] is Effect.CHANGES


def test_table_that_becomes_an_existing_one_is_read_on(updates: list[Update]) -> None:
    """R55 R02: the mapping stays, with its place in the stream."""
    found = of(updates, "the table that the stack made becomes an existing one, by `table`")

    assert {one.effect for one in found.differences if one.kind == "AWS::DynamoDB::Table"} == {
        Effect.LEAVES
    }
    assert not [one for one in found.differences if one.kind in REPLACEABLE]


def test_stage_that_is_not_kept_loses_what_is_removed_but_for_tables() -> None:
    """R55 R01 R02: removal is configuration, and the page says what it means."""
    names = ("a target is removed", "a source is removed")
    destroy = to("removal", value="destroy")

    lost = {
        one.kind
        for change in CHANGES
        if change.name in names
        for one in update(replace(change, before=(destroy, *change.before))).differences
        if one.effect is Effect.DELETES and one.kind in HOLDERS
    }

    assert lost == {"AWS::SQS::Queue", "AWS::SecretsManager::Secret", "AWS::Logs::LogGroup"}
