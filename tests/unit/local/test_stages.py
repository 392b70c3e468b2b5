"""Any stage of cdk.json on this machine: chosen by name, changed where it must be, and said so."""

import json
from pathlib import Path
from typing import Any

import pytest

from infrastructure.config.mistakes import ConfigError
from infrastructure.config.parser import parse_stages
from local.stages import STANDARD, ChosenStage, with_successor
from local.template.references import unknown_stream_arn
from local.template.stage import MINILM, changes_here, existing_tables, local_stage
from tests.infrastructure.synthesized import CONTEXT
from tests.stack.own_stage import OWN

STAGES = {**CONTEXT["stages"], "own": OWN.read(), "standard": STANDARD.read()}


@pytest.mark.parametrize("name", sorted(STAGES))
def test_every_stage_can_be_run_on_one_machine(name: str) -> None:
    """R53 R82: also one with tables, keys, domains and providers that are elsewhere."""
    given = STAGES[name]

    parsed = parse_stages({"own": local_stage(given, MINILM)})["own"]

    assert set(parsed.sources) == set(given["sources"])
    assert {name: source.key for name, source in parsed.sources.items()} == {
        name: source["key"] for name, source in given["sources"].items()
    }
    assert all(".invalid" in (found.base_url or "") for found in parsed.targets.values())
    assert all(found.api_key_secret_arn is None for found in parsed.targets.values())
    assert parsed.opensearch.domain is None
    assert parsed.enabled


def test_existing_table_is_made_under_its_name_with_its_key() -> None:
    """R53 R82: an application finds it here as it does in AWS."""
    [table] = existing_tables(OWN.read()).values()

    assert table["Properties"]["TableName"] == "Messages.v2"
    assert table["Properties"]["KeySchema"] == [
        {"AttributeName": "conversation", "KeyType": "HASH"},
        {"AttributeName": "number", "KeyType": "RANGE"},
    ]
    assert table["Properties"]["AttributeDefinitions"] == [
        {"AttributeName": "conversation", "AttributeType": "S"},
        {"AttributeName": "number", "AttributeType": "N"},
    ]
    source = local_stage(OWN.read(), MINILM)["sources"]["messages"]
    assert source["table"] == {
        "arn": "arn:aws:dynamodb:us-east-1:000000000000:table/Messages.v2",
        "stream_arn": unknown_stream_arn("Messages.v2"),
    }


def test_what_is_not_as_deployed_is_said_in_a_line_each() -> None:
    """R53 R82: table, models, index, network, encryption and what is switched off."""
    stage = {**OWN.read(), "vpc": {"subnets": ["subnet-1"]}, "encryption_key_arn": "arn:aws:kms:x"}

    assert list(changes_here(stage, MINILM)) == [
        "source messages: the table Messages.v2 is made here, empty and with the same key",
        "target default: openai text-embedding-3-small is all-MiniLM-L6-v2 here, on this machine:"
        " 384 dimensions, at most 200 tokens a chunk, no key",
        "target large: azure text-embedding-3-large is all-MiniLM-L6-v2 here, on this machine:"
        " 384 dimensions, at most 200 tokens a chunk, no key",
        "target bedrock: bedrock eu.cohere.embed-v4:0 is all-MiniLM-L6-v2 here, on this machine:"
        " vectors made as long as the model's, at most 200 tokens a chunk, no key",
        "index: OpenSearch on this machine, not"
        " https://search-example-abcdefghijklmnopqrstuvwxyz.eu-west-1.es.amazonaws.com",
        "network: left out here, the functions are processes of this machine",
        "encryption: left out here, files are as this machine keeps them",
        "enabled is false: here streams and lanes are read all the same",
    ]
    assert not {"vpc", "encryption_key_arn"} & local_stage(stage, MINILM).keys()


def test_domain_that_the_stage_makes_is_one_node_here() -> None:
    """R53 R82: however large it is in AWS."""
    assert "index: one node of OpenSearch on this machine stands for the domain" in changes_here(
        STAGES["prod"], MINILM
    )


@pytest.fixture
def cdk_json(tmp_path: Path) -> Path:
    """Write a cdk.json with a good stage and a wrong one."""
    path = tmp_path / "cdk.json"
    stages: dict[str, Any] = {"staging": STANDARD.read(), "broken": {"colour": 1}}
    path.write_text(json.dumps({"app": "x", "context": {"flag": True, "stages": stages}}))
    return path


def test_mistakes_of_other_stages_do_not_count(cdk_json: Path) -> None:
    """R53 R82: what is not run need not be right; the rest of the context stays."""
    chosen = ChosenStage(cdk_json, "staging")

    assert chosen.read() == STANDARD.read()
    assert chosen.context() == {"flag": True, "stages": {"staging": STANDARD.read()}}


def test_mistakes_of_the_chosen_stage_are_named(cdk_json: Path) -> None:
    """R53 R82: before any engine is started."""
    with pytest.raises(ConfigError, match=r"stages\.broken\.colour: unknown key"):
        ChosenStage(cdk_json, "broken").read()


def test_unknown_stage_is_answered_with_those_there_are(cdk_json: Path) -> None:
    """R40: and with the one that was probably meant."""
    with pytest.raises(ConfigError) as caught:
        ChosenStage(cdk_json, "stagin").read()

    assert str(caught.value) == (
        'cdk.json: stages: "stagin" is no stage of this file: one of staging, broken; did you mean'
        " staging?"
    )


@pytest.mark.parametrize("context", ["{}", '{"stages": []}'])
def test_file_without_stages_is_named(tmp_path: Path, context: str) -> None:
    """R40: one line, no stack trace."""
    (tmp_path / "cdk.json").write_text(f'{{"context": {context}}}')

    with pytest.raises(ConfigError, match='"dev" is no stage of this file'):
        ChosenStage(tmp_path / "cdk.json", "dev").read()


@pytest.mark.parametrize(
    ("change", "dimensions"),
    [
        ({"model": "text-embedding-3-large"}, 512),
        ({"dimensions": 256}, 512),
        ({"compression": "4x"}, 384),
    ],
)
def test_model_that_replaces_another_is_another_one_here_too(
    change: dict[str, Any], dimensions: int
) -> None:
    """R44 R53: by its dimensions; where only the structure changes, vectors can be taken over."""
    stage = STANDARD.read()
    old = stage["targets"]["default"]
    both = {"default": old, "next": {**old, "replaces": "default", **change}}
    stage["sources"]["articles"]["targets"] = list(both)

    parsed = parse_stages({"own": local_stage({**stage, "targets": both}, MINILM)})["own"]

    found = {name: target.vector_dimensions for name, target in parsed.targets.items()}
    assert found == {"default": 384, "next": dimensions}
    assert parsed.reuses_vectors("next") is (dimensions == 384)


def test_compressions_of_a_stage_are_those_of_its_targets(tmp_path: Path) -> None:
    """R18 R82: with `32x` the local node maps no files into memory."""
    changed = with_successor(tmp_path / "cdk.json", "next", {"compression": "4x"})

    assert STANDARD.compressions() == set()
    assert changed.compressions() == {"4x"}
