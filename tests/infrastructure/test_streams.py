"""Streams: nothing blocks a shard for ever, and nothing is thrown away."""

from typing import Any

from tests.infrastructure.synthesized import Synthesized


def test_stream_is_read_from_its_beginning_and_a_bad_record_is_set_aside(
    synthesized: Synthesized,
) -> None:
    """R02: every source's stream, with bisection, limits and a place for what failed."""
    (function,) = synthesized.functions("enqueue")
    buckets = synthesized.resources("AWS::S3::Bucket")
    mappings = synthesized.mappings(function)

    assert mappings
    for mapping in mappings:
        assert mapping["StartingPosition"] == "TRIM_HORIZON"
        assert mapping["BisectBatchOnFunctionError"] is True
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert 0 < mapping["MaximumRetryAttempts"] <= 10_000
        assert 0 < mapping["MaximumRecordAgeInSeconds"] < 24 * 60 * 60
        bucket = mapping["DestinationConfig"]["OnFailure"]["Destination"]
        assert bucket.removesuffix(".Arn") in buckets


def test_made_table_streams_new_images_and_existing_one_is_taken_as_it_is(
    synthesize: Any,
) -> None:
    """R02: several sources in one stack, made or existing."""
    stage = synthesize("example")
    (function,) = stage.functions("enqueue")
    made = [t for t in stage.properties("AWS::DynamoDB::Table") if "StreamSpecification" in t]
    arns = sorted(mapping["EventSourceArn"] for mapping in stage.mappings(function))

    assert [table["StreamSpecification"] for table in made] == [{"StreamViewType": "NEW_IMAGE"}]
    assert made[0]["KeySchema"] == [
        {"AttributeName": "conversation", "KeyType": "HASH"},
        {"AttributeName": "number", "KeyType": "RANGE"},
    ]
    assert arns[1].startswith("arn:aws:dynamodb:eu-west-1:123456789012:table/Articles/stream/")
    assert arns[0].endswith(".StreamArn")


def test_switch_stops_every_mapping_of_a_stage(synthesize: Any) -> None:
    """R47: `enabled` is on every mapping, of streams and of lanes."""
    kind = "AWS::Lambda::EventSourceMapping"

    assert {m["Enabled"] for m in synthesize("example").properties(kind)} == {False}
    assert {m["Enabled"] for m in synthesize("dev").properties(kind)} == {True}
