"""Outputs: what a command line finds."""

from typing import Any


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
