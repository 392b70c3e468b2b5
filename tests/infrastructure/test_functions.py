"""Functions: what they run on, and that the settings they read are the ones they get."""

from typing import Any

import pytest

from functions.core.settings import (
    EmbedSettings,
    EnqueueSettings,
    Environment,
    IndexSetupSettings,
)
from tests.infrastructure.synthesized import Synthesized

TELEMETRY = {"POWERTOOLS_SERVICE_NAME", "POWERTOOLS_METRICS_NAMESPACE", "LOG_LEVEL", "STAGE"}
SETTINGS: dict[str, type[Environment]] = {
    "enqueue": EnqueueSettings,
    "embed": EmbedSettings,
    "index_setup": IndexSetupSettings,
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


def test_index_is_set_up_for_each_target_before_a_lane_is_read(synthesize: Any) -> None:
    """R14: model, dimensions and the metadata of every source that feeds the target."""
    stage = synthesize("example")
    requests = {r["Index"]: r for r in stage.properties("Custom::EmbedqIndex")}
    lanes = [
        mapping
        for mapping in stage.resources("AWS::Lambda::EventSourceMapping").values()
        if "ScalingConfig" in mapping["Properties"]
    ]

    default = requests["embedq-example-default"]
    assert default["Dimensions"] == 512
    assert default["Model"] == "text-embedding-3-small"
    assert default["Metadata"] == {"author": "keyword", "published": "date", "sender": "keyword"}
    assert (default["Shards"], default["Replicas"]) == (1, 1)
    assert set(requests) == {"embedq-example-default", "embedq-example-large"}
    assert all(set(m["DependsOn"]) & set(stage.resources("Custom::EmbedqIndex")) for m in lanes)
