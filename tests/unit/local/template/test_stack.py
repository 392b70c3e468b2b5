"""The real template of the local stage, read whole."""

import json
from collections import Counter
from typing import Any

import pytest

from local.specs import QueueMappingSpec, StackSpec, StreamMappingSpec
from local.template import Site, TemplateError, read_stack
from local.watch.alarms import Alarm, Composite

ARN = "arn:aws:sqs:us-east-1:000000000000:"


@pytest.fixture
def stack(template: dict[str, Any], site: Site) -> StackSpec:
    """Read the local stage."""
    return read_stack(template, site)


def test_every_resource_is_read_or_named_as_ignored(
    template: dict[str, Any], stack: StackSpec
) -> None:
    """R82: nothing of the template is dropped in silence."""
    kinds = Counter(resource["Type"] for resource in template["Resources"].values())
    read = {
        "AWS::DynamoDB::Table": len(stack.tables),
        "AWS::SQS::Queue": len(stack.queues),
        "AWS::S3::Bucket": len(stack.buckets),
        "AWS::SecretsManager::Secret": len(stack.secrets),
        "AWS::Lambda::Function": len(stack.functions),
        "AWS::Lambda::EventSourceMapping": len(stack.queue_mappings) + len(stack.stream_mappings),
        "AWS::Events::Rule": len({schedule.rule for schedule in stack.schedules}),
        "AWS::Logs::LogGroup": len({function.log_group for function in stack.functions}),
        "Custom::EmbedqIndex": len(stack.custom_resources),
        "AWS::CloudWatch::Alarm": sum(isinstance(one, Alarm) for one in stack.alarms),
        "AWS::CloudWatch::CompositeAlarm": sum(isinstance(one, Composite) for one in stack.alarms),
    }

    assert kinds == Counter(read | dict(stack.ignored))
    assert Counter(one.kind for one in stack.resources) == Counter(read)
    assert "AWS::IAM::Role" in stack.ignored


def test_tables_come_with_keys_indexes_stream_and_time_to_live(stack: StackSpec) -> None:
    """R82: what CreateTable needs, and no more."""
    ledger, articles = stack.tables

    assert ledger.ttl_attribute == "expires_at"
    assert [index["IndexName"] for index in ledger.create["GlobalSecondaryIndexes"]] == ["open"]
    assert "SSESpecification" not in ledger.create
    assert articles.create == {
        "TableName": "embedq-local-sources-articles",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    }
    assert articles.ttl_attribute is None


def test_queues_come_with_every_attribute_as_text(stack: StackSpec) -> None:
    """R82: FIFO, redrive and allow policies are those of the template."""
    queues = {queue.name: queue.attributes for queue in stack.queues}
    normal = queues["embedq-local-default-normal.fifo"]
    dead = queues["embedq-local-default-dead-letters.fifo"]

    assert normal["FifoQueue"] == "true"
    assert normal["DeduplicationScope"] == "messageGroup"
    assert normal["VisibilityTimeout"] == "720"
    assert json.loads(normal["RedrivePolicy"]) == {
        "deadLetterTargetArn": f"{ARN}embedq-local-default-dead-letters.fifo",
        "maxReceiveCount": 10,
    }
    assert f"{ARN}embedq-local-default-normal.fifo" in dead["RedriveAllowPolicy"]
    assert "FifoQueue" not in queues["embedq-local-default-bulk"]


def test_functions_get_an_environment_without_references(stack: StackSpec) -> None:
    """R82: the functions find queues, index and model where they are on this machine."""
    embed = next(function for function in stack.functions if function.folder == "embed")

    assert embed.handler == "functions.embed.handler.lambda_handler"
    assert embed.timeout_seconds == 120
    assert embed.reserved_concurrency == 9
    assert embed.environment["INDEX_ENDPOINT"] == "http://127.0.0.1:9200"
    assert json.loads(embed.environment["QUEUES"])["high"] == (
        "http://localhost:4566/000000000000/embedq-local-default-high.fifo"
    )
    target = json.loads(embed.environment["TARGET"])
    assert target["base_url"] == "http://127.0.0.1:8000/v1"
    assert (target["model"], target["dimensions"]) == ("all-MiniLM-L6-v2", 384)
    assert embed.environment["API_KEY_SECRET"].endswith(f":secret:{stack.secrets[0]}")


def test_mappings_come_with_every_setting(stack: StackSpec) -> None:
    """R82: the runner polls as Lambda would."""
    bulk = next(m for m in stack.queue_mappings if m.queue == "embedq-local-default-bulk")
    (articles,) = stack.stream_mappings

    assert bulk == QueueMappingSpec(
        mapping_id=stack.outputs["TargetDefaultLaneBulkMappingId"],
        function="embedq-local-target-default-embed-function",
        queue="embedq-local-default-bulk",
        batch_size=200,
        window_seconds=5,
        max_concurrency=2,
        reports_failures=True,
        enabled=True,
    )
    assert articles == StreamMappingSpec(
        mapping_id=stack.outputs["SourceArticlesMappingId"],
        function="embedq-local-enqueue-function",
        table="embedq-local-sources-articles",
        batch_size=100,
        window_seconds=1,
        starting_position="TRIM_HORIZON",
        parallelization_factor=1,
        bisects=True,
        max_retries=10_000,
        max_age_seconds=82_800,
        reports_failures=True,
        enabled=True,
        failure_bucket="embedq-local-failed-changes-bucket",
    )


def test_the_index_is_that_of_the_small_model(stack: StackSpec) -> None:
    """R82: the custom resource says what to create."""
    (index,) = stack.custom_resources

    assert index["Index"] == "embedq-local-default"
    assert (index["Model"], index["Dimensions"], index["Replicas"]) == ("all-MiniLM-L6-v2", 384, 0)


def _stack_of(kind: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {"Resources": {"One": {"Type": kind, "Properties": properties}}}


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (
            _stack_of("AWS::Lambda::Function", {"Handler": "index.handler"}),
            "handler index.handler is not functions",
        ),
        (
            _stack_of(
                "AWS::Lambda::EventSourceMapping",
                {"FunctionName": "f", "EventSourceArn": "arn:aws:kinesis:us-east-1:0:stream/s"},
            ),
            "reads from kinesis",
        ),
        (
            _stack_of(
                "AWS::Lambda::EventSourceMapping",
                {
                    "FunctionName": "f",
                    "EventSourceArn": "arn:aws:dynamodb:us-east-1:0:table/t/stream/s",
                    "StartingPosition": "LATEST",
                    "DestinationConfig": {"OnFailure": {"Destination": f"{ARN}q"}},
                },
            ),
            "only a bucket",
        ),
        (
            _stack_of("AWS::SQS::Queue", {"KmsMasterKeyId": {"Fn::GetAtt": ["Gone", "Arn"]}}),
            "One: Gone is neither",
        ),
        (
            {
                "Resources": {"One": {"Type": "AWS::SQS::Queue"}},
                "Outputs": {"Wrong": {"Value": {"Fn::GetAtt": ["One", "Colour"]}}},
            },
            "output Wrong: One: attribute Colour",
        ),
    ],
    ids=["handler", "kinesis", "on-failure-queue", "unknown-id", "unknown-attribute"],
)
def test_a_template_that_local_mode_cannot_run_is_refused(
    template: dict[str, Any], said: str, site: Site
) -> None:
    """R82: what cannot be run here is said, with the resource's name."""
    with pytest.raises(TemplateError, match=said):
        read_stack(template, site)


def test_what_the_template_leaves_out_is_what_lambda_takes_by_itself(site: Site) -> None:
    """R82: defaults are AWS's, not ours."""
    template = {
        "Resources": {
            "Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "mine"}},
            "Run": {
                "Type": "AWS::Lambda::Function",
                "Properties": {"Handler": "functions.embed.handler.lambda_handler"},
            },
            "Read": {
                "Type": "AWS::Lambda::EventSourceMapping",
                "Properties": {
                    "FunctionName": {"Ref": "Run"},
                    "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]},
                },
            },
        }
    }

    stack = read_stack(template, site)

    (function,) = stack.functions
    (mapping,) = stack.queue_mappings
    assert (function.timeout_seconds, function.memory_mb) == (3, 128)
    assert function.reserved_concurrency is None
    assert (mapping.queue, mapping.function) == ("mine", "embedq-local-run")
    assert (mapping.batch_size, mapping.window_seconds, mapping.max_concurrency) == (10, 0, None)
    assert not mapping.reports_failures
    assert mapping.enabled
