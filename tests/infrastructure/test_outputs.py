"""Outputs: what a command line finds."""

import json
from typing import Any

from tests.infrastructure.synthesized import text


def test_outputs_name_every_part_that_a_command_needs(synthesize: Any) -> None:
    """R01: stable names, one output per thing."""
    lanes = [
        f"TargetDefaultLane{lane}{end}"
        for lane in ("High", "Normal", "Bulk", "Delete")
        for end in ("Url", "MappingId")
    ]

    assert set(synthesize("dev").template["Outputs"]) == {
        *lanes,
        "BreakerFunction",
        "CriticalTopicArn",
        "EnqueueFunction",
        "EventBus",
        "FailedChangesBucket",
        "IndexEndpoint",
        "IndexSetupFunction",
        "LedgerTable",
        "QueryFunction",
        "SourceArticlesMappingId",
        "SourceArticlesSettings",
        "SourceArticlesStreamArn",
        "SourceArticlesTable",
        "StashBucket",
        "SweepFunction",
        "TargetDefaultApiKeySecretArn",
        "TargetDefaultDeadLettersFifoUrl",
        "TargetDefaultDeadLettersStandardUrl",
        "TargetDefaultEmbedFunction",
        "TargetDefaultFillApiKey",
        "TargetDefaultSettings",
        "WarningTopicArn",
    }


def test_only_a_secret_made_here_is_to_be_filled(synthesize: Any) -> None:
    """R84: the output shows how, without a key in a shell's history."""
    outputs = synthesize("example").template["Outputs"]

    assert "file://" in str(outputs["TargetDefaultFillApiKey"]["Value"])
    assert "TargetLargeFillApiKey" not in outputs


def test_sequential_lane_is_among_the_outputs(synthesize: Any) -> None:
    """R33: a lane like the others."""
    outputs = synthesize("example").template["Outputs"]

    assert "TargetDefaultLaneSequentialMessagesUrl" in outputs


def test_mapping_of_the_roles_is_printed_for_an_existing_domain(synthesize: Any) -> None:
    """R02: two requests that a person enters into a domain with access control of its own."""
    outputs = synthesize("example").template["Outputs"]
    role, mapping = (text(outputs[name]["Value"]) for name in ("IndexRole", "IndexRoleMapping"))
    request, _, body = role.partition(" {")
    (rights,) = json.loads("{" + body)["index_permissions"]

    assert request == "PUT _plugins/_security/api/roles/embedq-example"
    assert rights["index_patterns"] == [
        "embedq-example-default",
        "embedq-example-default-1",
        "embedq-example-large",
        "embedq-example-large-1",
    ]
    assert mapping.startswith("PUT _plugins/_security/api/rolesmapping/embedq-example {")
    arns = json.loads(mapping.partition(" ")[2].partition(" ")[2])["backend_roles"]
    assert [arn.partition("Role")[0] for arn in arns] == [
        "TargetDefaultEmbed",
        "TargetLargeEmbed",
        "Sweep",
        "IndexIndexSetup",
        "Query",
    ]
    assert "IndexRole" not in synthesize("dev").template["Outputs"]
