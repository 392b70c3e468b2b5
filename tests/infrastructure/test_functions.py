"""Functions: what they run on, and that the settings they read are the ones they get."""

import json
from pathlib import Path
from typing import Any

import pytest

from functions.core.failure import FailureKind
from functions.core.settings import (
    BackfillSettings,
    BreakerFunctionSettings,
    BreakerSettings,
    EmbedSettings,
    EnqueueSettings,
    Environment,
    IndexSetupSettings,
    QuerySettings,
    SearchSettings,
    SweepSettings,
)
from infrastructure.app import pipeline_app
from infrastructure.function_code import PLACEHOLDER
from tests.infrastructure.synthesized import CONTEXT, Synthesized

TELEMETRY = {"POWERTOOLS_SERVICE_NAME", "LOG_LEVEL", "STAGE"}
SETTINGS: dict[str, type[Environment]] = {
    "enqueue": EnqueueSettings,
    "embed": EmbedSettings,
    "index_setup": IndexSetupSettings,
    "sweep": SweepSettings,
    "backfill": BackfillSettings,
    "breaker": BreakerFunctionSettings,
    "query": QuerySettings,
    "search": SearchSettings,
}


def variables(function: dict[str, Any]) -> dict[str, str]:
    """Return a function's environment."""
    found: dict[str, str] = function["Environment"]["Variables"]
    return found


@pytest.mark.parametrize("folder", SETTINGS)
def test_environment_holds_exactly_what_the_function_reads(
    synthesized: Synthesized, folder: str
) -> None:
    """R01: each settings model parses the deployed environment, and every variable is read."""
    model = SETTINGS[folder]
    functions = synthesized.functions(folder)

    assert functions
    for function in functions.values():
        model.from_environment(variables(function))
        names = {name.upper() for name in model.model_fields}
        assert set(variables(function)) == names | TELEMETRY
        assert variables(function)["POWERTOOLS_SERVICE_NAME"] == folder
        assert variables(function)["STAGE"] == synthesized.stage


def test_enqueue_knows_every_source_target_and_lane(synthesize: Any) -> None:
    """R02, R14: what cdk.json says arrives in the function."""
    (function,) = synthesize("example").functions("enqueue").values()
    settings = EnqueueSettings.from_environment(variables(function))

    articles, messages = settings.sources
    assert (articles.name, articles.table, articles.key) == ("articles", "Articles", ("id",))
    assert articles.targets == ("default", "large")
    assert messages.key == ("conversation", "number")
    assert [(t.name, t.dimensions) for t in settings.targets] == [("default", 512), ("large", 3072)]
    assert set(settings.queues["default"]) == {
        "high",
        "normal",
        "bulk",
        "delete",
        "sequential-messages",
    }
    assert set(settings.queues["large"]) == {"high", "normal", "bulk", "delete"}


def test_embed_knows_only_its_own_target(synthesize: Any) -> None:
    """R14: one function per target, with the sources that feed it."""
    found = {
        settings.target.name: [source.name for source in settings.sources]
        for settings in (
            EmbedSettings.from_environment(variables(function))
            for function in synthesize("example").functions("embed").values()
        )
    }

    assert found == {"default": ["articles", "messages"], "large": ["articles"]}


def test_sweep_knows_what_enqueue_knows_and_every_index(synthesize: Any) -> None:
    """R29: it sends tasks of every target, and takes up changes that enqueue could not."""
    stage = synthesize("example")
    (function,) = stage.functions("sweep").values()
    (enqueue,) = stage.functions("enqueue").values()
    settings = SweepSettings.from_environment(variables(function))

    assert settings.model_dump(include=set(EnqueueSettings.model_fields)) == (
        EnqueueSettings.from_environment(variables(enqueue)).model_dump()
    )
    assert settings.failed_changes_bucket.startswith("FailedChanges")
    assert settings.stuck_hours == 24
    assert (
        settings.targets[0].retry.policy("archive").backoff(FailureKind.TIMEOUT).max_attempts == 3
    )


def test_breaker_knows_the_mappings_that_are_switched_on(synthesize: Any) -> None:
    """R25, R47: the whole stage's lanes, or none where the stage is switched off."""
    (on,) = [
        BreakerFunctionSettings.from_environment(variables(function)).targets
        for function in synthesize("dev").functions("breaker").values()
    ]
    (off,) = [
        BreakerFunctionSettings.from_environment(variables(function)).targets
        for function in synthesize("example").functions("breaker").values()
    ]
    mappings = synthesize("dev").resources("AWS::Lambda::EventSourceMapping")

    (default,) = on
    assert set(default.mappings) == {"high", "normal", "bulk", "delete"}
    assert set(default.mappings.values()) <= set(mappings)
    assert default.embed_function in synthesize("dev").functions("embed")
    assert [(target.name, target.mappings) for target in off] == [("default", {}), ("large", {})]
    assert off[1].settings == BreakerSettings(failure_ratio=0.3)


@pytest.mark.parametrize(("events", "bus"), [(True, "default"), (False, "")])
def test_completion_events_go_to_the_default_bus_or_nowhere(
    tmp_path: Path, events: bool, bus: str
) -> None:
    """R27: one switch for embed and sweep, which also need the permission then."""
    stages = {"dev": {**CONTEXT["stages"]["dev"], "completion_events": events}}
    app = pipeline_app({**CONTEXT, "stages": stages}, code=PLACEHOLDER, outdir=tmp_path)
    template = app.synth().get_stack_by_name("embedq-dev").template
    stage = Synthesized("dev", tmp_path, template)

    buses = {
        folder: variables(function)["EVENT_BUS"]
        for folder in ("embed", "sweep")
        for function in stage.functions(folder).values()
    }
    assert buses == {"embed": bus, "sweep": bus}
    assert ("events:PutEvents" in json.dumps(stage.properties("AWS::IAM::Policy"))) is events
    assert template["Outputs"]["EventBus"]["Value"] == (bus or "none")


def test_functions_are_arm64_traced_and_log_where_retention_is_set(
    synthesized: Synthesized,
) -> None:
    """R01: one shape for all functions."""
    groups = synthesized.resources("AWS::Logs::LogGroup")
    for function in synthesized.properties("AWS::Lambda::Function"):
        assert function["Architectures"] == ["arm64"]
        assert function["Runtime"] == "python3.13"
        assert function["TracingConfig"] == {"Mode": "Active"}
        group = groups[function["LoggingConfig"]["LogGroup"]]
        assert group["Properties"]["RetentionInDays"] in (7, 30, 90)


def test_index_is_set_up_for_each_target_before_embed_changes_or_a_lane_is_read(
    synthesize: Any,
) -> None:
    """R14: model, dimensions and the metadata of every source that feeds the target."""
    stage = synthesize("example")
    requests = {r["Index"]: r for r in stage.properties("Custom::EmbedqIndex")}
    lanes = [
        mapping
        for name, mapping in stage.resources("AWS::Lambda::EventSourceMapping").items()
        if "ScalingConfig" in mapping["Properties"] and not name.startswith("Backfill")
    ]

    default = requests["embedq-example-default"]
    assert default["Dimensions"] == 512
    assert default["Model"] == "text-embedding-3-small"
    assert default["Metadata"] == {"author": "keyword", "published": "date", "sender": "keyword"}
    assert (default["Shards"], default["Replicas"]) == (1, 1)
    assert set(requests) == {"embedq-example-default", "embedq-example-large"}
    assert all(set(m["DependsOn"]) & set(stage.resources("Custom::EmbedqIndex")) for m in lanes)
    for name in stage.functions("embed"):
        target = name.removeprefix("Target").partition("Embed")[0]
        waits_for = stage.template["Resources"][name]["DependsOn"]
        assert [one for one in waits_for if one.startswith(f"Index{target}Index")], name
