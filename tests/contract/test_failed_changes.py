"""The failed changes: what Lambda sets aside is read, parsed as a stream's, and removed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from functions.adapters.s3_failed_changes import S3FailedChanges
from functions.core.change import UnreadableBatchError
from functions.sweep.ports import FailedChanges
from local.memory.table import MemoryFailedChanges, MemoryTable
from local.runner.stream_event import EXHAUSTED, FailedRecords
from tests.builders import NOW_MS, make_source
from tests.contract.engines import aws_client

BUCKET = "failed-changes"
AT = datetime.fromtimestamp(NOW_MS / 1000, UTC)


@dataclass(frozen=True)
class Engine:
    """Failed changes, and how Lambda puts an object there."""

    failed: FailedChanges
    put: Callable[[str, bytes], object]


@pytest.fixture(params=["memory", "moto"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    sources = [make_source()]
    if request.param == "memory":
        memory = MemoryFailedChanges(sources)
        yield Engine(memory, memory.objects.__setitem__)
        return
    with aws_client(request, "s3", engine="moto", fixture="") as s3:
        s3.create_bucket(Bucket=BUCKET)
        yield Engine(
            S3FailedChanges(s3, BUCKET, sources),
            lambda name, body: s3.put_object(Bucket=BUCKET, Key=name, Body=body),
        )


def failed_records() -> FailedRecords:
    """Return what a mapping gives up: a write, a delete, and a record without a key."""
    table = MemoryTable(make_source(), lambda: NOW_MS)
    table.put({"id": "a", "body": "text"})
    table.delete({"id": "a"})
    table.put({"id": "b", "body": "text"})
    table.stream[-1]["dynamodb"].pop("Keys")
    return FailedRecords(
        records=table.stream,
        condition=EXHAUSTED,
        invocations=5,
        request_id="request",
        function_arn="arn:aws:lambda:us-east-1:000000000000:function:enqueue",
        mapping_id="mapping",
        stream_arn=table.stream[0]["eventSourceARN"],
        shard_id="shardId-1",
    )


def test_what_lambda_set_aside_is_read_as_changes(engine: Engine) -> None:
    """R29 R31: whole records, so that nothing but the ledger decides on them."""
    given_up = failed_records()
    name = given_up.key(AT)
    engine.put(name, given_up.body(AT))

    assert list(engine.failed.names()) == [name]
    changes, rejected = engine.failed.read(name)

    assert [(c.document_id, c.removed) for c in changes] == [("a", False), ("a", True)]
    assert [r.reason for r in rejected] == ["the record has no Keys"]


def test_removed_batch_is_not_named_again(engine: Engine) -> None:
    """R29: replayed once; a second removal finds it gone."""
    for name in ("aws/lambda/one", "aws/lambda/two"):
        engine.put(name, failed_records().body(AT))

    engine.failed.remove("aws/lambda/one")
    engine.failed.remove("aws/lambda/one")

    assert list(engine.failed.names()) == ["aws/lambda/two"]


def test_empty_bucket_names_nothing(engine: Engine) -> None:
    """R29: as it should be."""
    assert list(engine.failed.names()) == []


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b'{"payload": "x"}', b'{"payload": {"Records": [1]}}', b"\xff"],
)
def test_what_lambda_did_not_write_is_named(engine: Engine, body: bytes) -> None:
    """R10: without quoting it."""
    engine.put("aws/lambda/odd", body)

    with pytest.raises(UnreadableBatchError, match=r"^it is not an invocation record of a stream$"):
        engine.failed.read("aws/lambda/odd")
