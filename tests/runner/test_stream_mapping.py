"""The stream mapping on a real DynamoDB with streams and real function processes."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from moto.server import ThreadedMotoServer

from tests.runner.stage import Stage
from tests.waiting import until

BUCKET = "failed-changes"


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    """Return the URL of a bucket store."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


def test_records_come_in_order_and_in_lambdas_shape(stage: Stage) -> None:
    """R03: every write reaches the function once, in order, as Lambda would give it."""
    stage.table()
    stage.put("a", blob={"B": b"\x00\xff"}, list={"L": [{"M": {"n": {"N": "1.5"}}}]})
    stage.put("a", blob={"B": b"\x01"})
    stage.dynamodb.delete_item(TableName=stage.name, Key={"id": {"S": "a"}})
    stage.start(stage.function(), streams=[stage.stream_mapping()])

    until(lambda: sum(map(len, stage.changed())) == 3, "three records")

    insert, modify, remove = [r for note in stage.notes() for r in note["records"]]
    assert [r["eventName"] for r in (insert, modify, remove)] == ["INSERT", "MODIFY", "REMOVE"]
    data = insert.pop("dynamodb")
    arn = insert.pop("eventSourceARN")
    assert arn.startswith(f"arn:aws:dynamodb:us-east-1:000000000000:table/{stage.name}/stream/20")
    assert insert.pop("eventID")
    assert insert == {
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
    }
    assert isinstance(data.pop("ApproximateCreationDateTime"), int)
    assert data.pop("SequenceNumber").isdigit()
    assert data.pop("SizeBytes") > 0
    assert data == {
        "Keys": {"id": {"S": "a"}},
        "NewImage": {
            "id": {"S": "a"},
            "blob": {"B": "AP8="},
            "list": {"L": [{"M": {"n": {"N": "1.5"}}}]},
        },
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    assert remove["dynamodb"]["OldImage"]["blob"] == {"B": "AQ=="}
    assert "NewImage" not in remove["dynamodb"]


@pytest.mark.parametrize("what", ["fail", "report"])
def test_a_poison_record_ends_alone_in_the_bucket(stage: Stage, s3_url: str, what: str) -> None:
    """R82: bisected or reported, only the poison is given up, whole, and the others go on."""
    stage.place = replace(stage.place, aws_url=s3_url)
    s3 = stage.place.client("s3", s3_url)
    bucket = f"{BUCKET}-{what}"
    s3.create_bucket(Bucket=bucket)
    stage.table()
    for number in range(8):
        stage.put(f"{number}", **({"do": what} if number == 5 else {}))
    runner = stage.start(stage.function(), streams=[stage.stream_mapping(bucket=bucket)])

    until(lambda: stage.changed()[-1:] == [["6", "7"]], "the records after the poison")

    counts = runner.statistics()["stream-mapping"]
    assert counts.discarded == 1
    [found] = s3.list_objects_v2(Bucket=bucket)["Contents"]
    assert found["Key"].startswith("aws/lambda/stream-mapping/shardId-")
    kept = json.loads(s3.get_object(Bucket=bucket, Key=found["Key"])["Body"].read())
    payload: dict[str, Any] = json.loads(kept["payload"])
    assert [r["dynamodb"]["Keys"]["id"]["S"] for r in payload["Records"]] == ["5"]
    assert kept["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert kept["DDBStreamBatchInfo"]["batchSize"] == 1
    assert kept["DDBStreamBatchInfo"]["streamArn"] == payload["Records"][0]["eventSourceARN"]
    done = {item for ids in stage.changed() for item in ids}
    assert done == {str(number) for number in range(8)}


def test_a_new_runner_goes_on_after_the_checkpoint(stage: Stage) -> None:
    """R82: what was done before a restart does not come again; what was not done does."""
    stage.table()
    mapping = stage.stream_mapping(batch_size=2)
    for number in range(5):
        stage.put(f"before-{number}")
    runner = stage.start(stage.function(), streams=[mapping])
    until(lambda: sum(map(len, stage.changed())) == 5, "five records")
    runner.stop()
    for number in range(3):
        stage.put(f"after-{number}")

    stage.start(stage.function(), streams=[mapping])

    until(lambda: sum(map(len, stage.changed())) == 8, "three more records")
    assert [item for ids in stage.changed() for item in ids] == [
        *(f"before-{number}" for number in range(5)),
        *(f"after-{number}" for number in range(3)),
    ]


def test_the_window_gathers_what_is_written_meanwhile(stage: Stage) -> None:
    """R82: a batch ends when it is full."""
    stage.table()
    mapping = stage.stream_mapping(batch_size=4, window_seconds=20)
    stage.start(stage.function(), streams=[mapping])

    for number in range(4):
        stage.put(f"{number}")

    until(lambda: stage.changed() == [["0", "1", "2", "3"]], "one full batch")


def test_a_switched_off_stream_rests_and_loses_nothing(stage: Stage) -> None:
    """R25: disabled, nothing is read; enabled again, it goes on where it was."""
    stage.table()
    runner = stage.start(stage.function(), streams=[stage.stream_mapping()])
    stage.put("a")
    until(lambda: stage.changed() == [["a"]], "the first record")
    runner.set_enabled("stream-mapping", False)
    until(lambda: runner.state("stream-mapping") == "Disabled", "the mapping is disabled")

    stage.put("b")

    assert stage.changed() == [["a"]]
    runner.set_enabled("stream-mapping", True)
    until(lambda: stage.changed() == [["a"], ["b"]], "the second record")
    until(lambda: runner.state("stream-mapping") == "Enabled", "the mapping is enabled")
