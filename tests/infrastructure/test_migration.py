"""A target that replaces another: what the stack gives it, and takes away with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from functions.core.settings import EmbedSettings, IndexSetupSettings
from infrastructure.app import pipeline_app
from infrastructure.function_code import PLACEHOLDER
from tests.infrastructure.stages import ARTICLES, stage_with
from tests.infrastructure.synthesized import CONTEXT, Synthesized, as_list, text
from tests.infrastructure.test_functions import variables

DOMAIN = "arn:aws:es:eu-west-1:123456789012:domain/mine"
EXISTING = {
    "endpoint": "https://search-mine-abc123.eu-west-1.es.amazonaws.com",
    "domain_arn": DOMAIN,
}
SMALL = {"model": "text-embedding-3-small"}


def stage(new: dict[str, Any] | None) -> Any:
    """Synthesize a stage, with a second target if one is given."""
    changes: list[tuple[tuple[str, ...], Any]] = [(("opensearch",), EXISTING)]
    if new is not None:
        changes += [(("targets", "next"), new), ((*ARTICLES, "targets"), ["default", "next"])]
    app = pipeline_app({**CONTEXT, "stages": {"mine": stage_with(*changes)}}, code=PLACEHOLDER)
    [stack] = app.synth().stacks
    return Synthesized("mine", Path(stack.template_full_path), stack.template)


@pytest.fixture(scope="module")
def alone() -> Any:
    return stage(None)


@pytest.fixture(scope="module")
def structure() -> Any:
    return stage({**SMALL, "compression": "4x", "replaces": "default"})


@pytest.fixture(scope="module")
def model() -> Any:
    return stage({"model": "text-embedding-3-large", "replaces": "default"})


def paths(found: Synthesized, role: str) -> set[str]:
    """Return which requests to the domain a role may send."""
    return {
        f"{action.removeprefix('es:ESHttp').upper()} {resource.removeprefix(DOMAIN)}"
        for policy in found.properties("AWS::IAM::Policy")
        if role in policy["PolicyName"]
        for statement in policy["PolicyDocument"]["Statement"]
        for action in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
        if action.startswith("es:")
    }


def shared(found: Synthesized) -> dict[str, str | None]:
    indexes = found.properties("Custom::EmbedqIndex")
    return {one["Target"]: one.get("SharedAlias") for one in indexes}


def test_aliases_are_moved_by_one_function_and_only_during_a_migration(
    alone: Synthesized, model: Synthesized
) -> None:
    """R44 R84: the request names its indexes in the body, so that no path can limit it."""
    assert "POST /_aliases" in paths(model, "IndexSetupRole")
    assert not [path for path in paths(alone, "") if path.endswith("/_aliases")]
    others = [p["PolicyName"] for p in model.properties("AWS::IAM::Policy")]
    holders = [name for name in others if "POST /_aliases" in paths(model, name)]
    assert len(holders) == 1


def test_vectors_are_taken_only_from_the_same_model(
    structure: Synthesized, model: Synthesized
) -> None:
    """R44 R84: read, never written; and an index of another model is not read at all."""

    def reused(found: Synthesized, target: str) -> str:
        [function] = [
            function
            for name, function in found.functions("embed").items()
            if name.startswith(f"Target{target}") or f"Target{target}" in name
        ]
        return EmbedSettings.from_environment(variables(function)).target.reused_index

    assert reused(structure, "Next") == "embedq-mine-default"
    assert "POST /embedq-mine-default/_mget" in paths(structure, "TargetNextEmbedRole")
    assert "POST /embedq-mine-default/_bulk" not in paths(structure, "TargetNextEmbedRole")
    assert reused(structure, "Default") == ""
    assert reused(model, "Next") == ""
    assert not [p for p in paths(model, "TargetNextEmbedRole") if "default" in p]


def test_both_indexes_know_the_alias_that_they_share(
    alone: Synthesized, model: Synthesized
) -> None:
    """R44: whichever target goes at its end, the function that checks it is called."""
    assert shared(alone) == {"default": None}
    assert shared(model) == dict.fromkeys(("default", "next"), "embedq-mine-default-read")
    [setup] = model.functions("index_setup").values()
    assert IndexSetupSettings.from_environment(variables(setup)).indexes == {
        "embedq-mine-default": "",
        "embedq-mine-next": "embedq-mine-default",
    }


@pytest.mark.parametrize("function", ["enqueue", "search"])
def test_no_target_is_left_out_before_its_removal_is_accepted(
    model: Synthesized, function: str
) -> None:
    """R44 R55: writes and searches change only after every index has been checked."""
    [name] = model.functions(function)
    indexes = set(model.resources("Custom::EmbedqIndex"))

    assert indexes <= set(model.template["Resources"][name]["DependsOn"])


@pytest.mark.parametrize(
    ("setting", "value", "is_same"),
    [
        ("compression", "32x", True),
        ("shards", 3, True),
        ("chunk_tokens", 200, True),
        ("document_prefix", "passage: ", True),
        ("dimensions", 512, False),
        ("base_url", "https://models.example.com/v1", False),
        ("headers", {"x-version": "2"}, False),
    ],
)
def test_same_model_is_told_by_the_settings_that_decide_a_vector(
    setting: str, value: Any, is_same: bool
) -> None:
    """R44: others, as prefixes, are part of each chunk's hash."""
    from infrastructure.config.target import TargetConfig

    old = TargetConfig.model_validate(SMALL)
    new = TargetConfig.model_validate({**SMALL, setting: value, "replaces": "default"})

    assert new.same_model(old) is is_same


def test_outputs_name_what_is_replaced(model: Synthesized) -> None:
    """R44: commands find the migration there."""
    settings = json.loads(text(model.template["Outputs"]["TargetNextSettings"]["Value"]))

    assert settings["replaces"] == "default"


def test_index_of_a_successor_is_asked_for_after_that_of_the_replaced_target(
    model: Synthesized,
) -> None:
    """R44: the target that searches without one would mean is checked first, and alone."""
    indexes = {
        one["Properties"]["Target"]: (name, one.get("DependsOn", []))
        for name, one in model.template["Resources"].items()
        if one["Type"] == "Custom::EmbedqIndex"
    }

    assert indexes["default"][0] in indexes["next"][1]
    assert indexes["next"][0] not in indexes["default"][1]
