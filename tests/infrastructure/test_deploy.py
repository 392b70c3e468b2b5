"""The real `cdk bootstrap` and `cdk deploy`, against a local AWS."""

import json
from typing import Any

import pytest

from functions.core.settings import (
    BreakerFunctionSettings,
    EmbedSettings,
    EnqueueSettings,
    SweepSettings,
)
from tests.infrastructure.deployment import Deployed

pytestmark = pytest.mark.deploy


def attributes(deployed: Deployed, output: str) -> dict[str, str]:
    """Return the attributes of the queue whose URL is an output."""
    found: dict[str, str] = deployed.client("sqs").get_queue_attributes(
        QueueUrl=deployed.outputs[output], AttributeNames=["All"]
    )["Attributes"]
    return found


def mapping(deployed: Deployed, output: str) -> dict[str, Any]:
    """Return the mapping whose id is an output."""
    found: dict[str, Any] = deployed.client("lambda").get_event_source_mapping(
        UUID=deployed.outputs[output]
    )
    return found


def test_queues_are_there_with_their_dead_letters(deployed: Deployed) -> None:
    """R83: what the template promises is what was made."""
    high = attributes(deployed, "TargetDefaultLaneHighUrl")
    bulk = attributes(deployed, "TargetDefaultLaneBulkUrl")
    dead = attributes(deployed, "TargetDefaultDeadLettersFifoUrl")

    assert high["FifoQueue"] == "true"
    assert high["DeduplicationScope"] == "messageGroup"
    assert high["VisibilityTimeout"] == "720"
    assert json.loads(high["RedrivePolicy"]) == {
        "deadLetterTargetArn": dead["QueueArn"],
        "maxReceiveCount": 10,
    }
    assert "FifoQueue" not in bulk


def test_mappings_are_there_with_their_settings(deployed: Deployed) -> None:
    """R83, R08: stream and lanes are read as configured."""
    stream = mapping(deployed, "SourceArticlesMappingId")
    high = mapping(deployed, "TargetDefaultLaneHighMappingId")
    bulk = mapping(deployed, "TargetDefaultLaneBulkMappingId")

    assert stream["EventSourceArn"] == deployed.outputs["SourceArticlesStreamArn"]
    assert stream["BisectBatchOnFunctionError"] is True
    assert stream["DestinationConfig"]["OnFailure"]["Destination"].startswith("arn:aws:s3:::")
    assert high["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert high["ScalingConfig"] == {"MaximumConcurrency": 10}
    assert (bulk["BatchSize"], bulk["MaximumBatchingWindowInSeconds"]) == (200, 5)


def test_tables_are_there_and_the_source_streams(deployed: Deployed) -> None:
    """R83, R02: a table of our own with its stream, and the ledger with its index."""
    dynamodb = deployed.client("dynamodb")
    source = dynamodb.describe_table(TableName=deployed.outputs["SourceArticlesTable"])["Table"]
    ledger = dynamodb.describe_table(TableName=deployed.outputs["LedgerTable"])["Table"]

    assert source["StreamSpecification"]["StreamViewType"] == "NEW_IMAGE"
    assert source["LatestStreamArn"] == deployed.outputs["SourceArticlesStreamArn"]
    assert [index["IndexName"] for index in ledger["GlobalSecondaryIndexes"]] == ["open"]


def test_functions_read_the_settings_they_were_deployed_with(deployed: Deployed) -> None:
    """R83: the deployed environment, with real names in it, parses and fits the outputs."""
    enqueue = EnqueueSettings.from_environment(deployed.function_environment("EnqueueFunction"))
    embed = EmbedSettings.from_environment(
        deployed.function_environment("TargetDefaultEmbedFunction")
    )

    assert enqueue.ledger_table == embed.ledger_table == deployed.outputs["LedgerTable"]
    assert enqueue.queues == {"default": embed.queues}
    assert embed.queues["high"] == deployed.outputs["TargetDefaultLaneHighUrl"]
    assert embed.index_endpoint == deployed.index.url
    assert embed.stash_bucket == deployed.outputs["StashBucket"]


def test_sweep_and_breaker_read_the_settings_they_were_deployed_with(deployed: Deployed) -> None:
    """R83, R29, R25: sweep and breaker, with the real names of what they look after."""
    sweep = SweepSettings.from_environment(deployed.function_environment("SweepFunction"))
    breaker = BreakerFunctionSettings.from_environment(
        deployed.function_environment("BreakerFunction")
    )

    assert sweep.ledger_table == breaker.ledger_table == deployed.outputs["LedgerTable"]
    assert sweep.failed_changes_bucket == deployed.outputs["FailedChangesBucket"]
    assert sweep.event_bus == deployed.outputs["EventBus"] == "default"
    assert breaker.targets[0].embed_function == deployed.outputs["TargetDefaultEmbedFunction"]


def test_ticks_are_there_and_disabled_in_a_stage_that_is_switched_off(deployed: Deployed) -> None:
    """R83, R29, R47: each rule with its rate and its job."""
    events = deployed.client("events")
    rules = {
        rule["ScheduleExpression"] + target["Input"]: rule["State"]
        for rule in events.list_rules()["Rules"]
        for target in events.list_targets_by_rule(Rule=rule["Name"])["Targets"]
    }

    assert rules == {
        'rate(1 minute){"job":"due"}': "DISABLED",
        'rate(15 minutes){"job":"maintenance"}': "DISABLED",
        'rate(1 minute){"job":"reconcile"}': "DISABLED",
        'rate(5 minutes){"job":"jobs"}': "DISABLED",
        'rate(1 hour){"job":"proof"}': "DISABLED",
    }


def test_index_was_set_up_by_the_deployment_itself(deployed: Deployed) -> None:
    """R83: the custom resource ran before the stack was complete."""
    index = deployed.index.aliases[json.loads(deployed.outputs["TargetDefaultSettings"])["index"]]
    vector = deployed.index.indexes[index]["mappings"]["properties"]["chunks"]["properties"]

    assert vector["vector"]["dimension"] == 8
