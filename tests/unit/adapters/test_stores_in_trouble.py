"""DynamoDB and S3 in trouble: one kind of failure, which charges no document."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from functions.adapters.dynamodb_batch import MAX_ROUNDS
from functions.adapters.dynamodb_ledger import DynamoDbLedger
from functions.adapters.dynamodb_source import DynamoDbSource
from functions.adapters.dynamodb_table import DynamoDbTable
from functions.adapters.s3_stash import S3Stash
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey
from functions.core.scan import RefusedStartError
from tests.builders import make_row, make_source
from tests.contract.engines import client

NOWHERE = "http://127.0.0.1:9"
KEY = RowKey("default/articles/a")
ITEM_KEY = {"id": {"S": "a"}}
VECTORS = {"h": np.ones(2, dtype=np.float32)}


def unavailable(message: str) -> Failure:
    return Failure(FailureKind.STORE_UNAVAILABLE, message)


@pytest.fixture
def dynamodb() -> Iterator[Any]:
    with Stubber(client("dynamodb", NOWHERE)) as stub:
        yield stub


@pytest.fixture
def s3() -> Iterator[Any]:
    with mock_aws():
        yield client("s3")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ProvisionedThroughputExceededException", FailureKind.STORE_UNAVAILABLE),
        ("ThrottlingException", FailureKind.STORE_UNAVAILABLE),
        ("InternalServerError", FailureKind.STORE_UNAVAILABLE),
        ("ResourceNotFoundException", FailureKind.STORE_UNAVAILABLE),
        ("AccessDeniedException", FailureKind.STORE_DENIED),
    ],
)
def test_error_of_the_table_spends_no_attempt(dynamodb: Any, code: str, kind: FailureKind) -> None:
    """R22: reading and writing alike, reported with the code of AWS."""
    ledger, source = DynamoDbLedger(dynamodb.client, "ledger"), DynamoDbSource(dynamodb.client)
    calls: list[tuple[str, str, Callable[[], object]]] = [
        ("put_item", "writing table ledger", lambda: ledger.write([make_row(revision=0)])),
        ("batch_execute_statement", "writing table ledger", lambda: ledger.write([make_row()])),
        ("batch_get_item", "reading table ledger", lambda: ledger.read([KEY])),
        (
            "batch_get_item",
            "reading table articles-table",
            lambda: source.read(make_source(), [ITEM_KEY]),
        ),
    ]
    for operation, doing, call in calls:
        dynamodb.add_client_error(operation, code)

        with pytest.raises(FailureError) as caught:
            call()

        assert caught.value.failure == Failure(kind, f"{doing}: {code}")
        assert not kind.spends_attempt


def test_keys_that_come_back_unprocessed_are_asked_for_again(dynamodb: Any) -> None:
    """R31: an answer with nothing in it is no absence."""
    left = {"articles-table": {"Keys": [ITEM_KEY], "ConsistentRead": True}}
    dynamodb.add_response("batch_get_item", {"Responses": {}, "UnprocessedKeys": left})
    dynamodb.add_response(
        "batch_get_item",
        {"Responses": {"articles-table": [ITEM_KEY]}, "UnprocessedKeys": {}},
        {"RequestItems": left},
    )

    assert DynamoDbSource(dynamodb.client).read(make_source(), [ITEM_KEY]) == [{"id": "a"}]


def test_keys_left_over_and_over_again_are_a_failure(dynamodb: Any) -> None:
    """R22 R31: throttled; an item taken for absent would be deleted from the index."""
    left = {"articles-table": {"Keys": [ITEM_KEY], "ConsistentRead": True}}
    for _ in range(MAX_ROUNDS):
        dynamodb.add_response("batch_get_item", {"Responses": {}, "UnprocessedKeys": left})

    with pytest.raises(FailureError) as caught:
        DynamoDbSource(dynamodb.client).read(make_source(), [ITEM_KEY])

    assert caught.value.failure == unavailable("reading table articles-table: keys left over")


def test_stash_without_its_bucket_is_unavailable(s3: Any) -> None:
    """R13 R22: reported, so that the run goes on without it."""
    with pytest.raises(FailureError) as caught:
        S3Stash(s3, "absent").read(KEY)

    assert caught.value.failure == unavailable("reading the stash: NoSuchBucket")


def test_write_that_s3_refuses_is_unavailable() -> None:
    """R13 R22: reading worked, writing does not."""
    s3 = client("s3", NOWHERE)
    with Stubber(s3) as stub:
        stub.add_client_error("get_object", "NoSuchKey")
        stub.add_client_error("put_object", "SlowDown")
        with pytest.raises(FailureError) as caught:
            S3Stash(s3, "bucket").write(KEY, VECTORS)

    assert caught.value.failure == unavailable("writing the stash: SlowDown")


@pytest.mark.parametrize("body", [b"", b"[]\n", b"not ours", b'["a", "b"]\n123'])
def test_object_that_cannot_be_read_is_no_object(s3: Any, body: bytes) -> None:
    """R13: the stash only saves money."""
    s3.create_bucket(Bucket="bucket")
    stash = S3Stash(s3, "bucket")
    stash.write(KEY, VECTORS)
    [found] = s3.list_objects_v2(Bucket="bucket")["Contents"]
    s3.put_object(Bucket="bucket", Key=found["Key"], Body=body)

    assert stash.read(KEY) == {}
    stash.write(KEY, VECTORS)
    assert list(stash.read(KEY)) == ["h"]


def test_vectors_of_a_former_model_are_left_behind(s3: Any) -> None:
    """R13 R14: other dimensions do not stop the new ones from being kept."""
    s3.create_bucket(Bucket="bucket")
    stash = S3Stash(s3, "bucket")
    stash.write(KEY, {"former": np.ones(3, dtype=np.float32)})

    stash.write(KEY, VECTORS)

    assert list(stash.read(KEY)) == ["h"]


def test_objects_live_under_the_prefix_that_expires(s3: Any) -> None:
    """R13: the bucket's lifecycle rule finds them; no document id stands in a name."""
    s3.create_bucket(Bucket="bucket")
    S3Stash(s3, "bucket").write(RowKey("default/articles/secret"), VECTORS)

    [found] = s3.list_objects_v2(Bucket="bucket")["Contents"]
    assert found["Key"].startswith("stash/")
    assert "secret" not in found["Key"]


@pytest.mark.parametrize("code", ["ValidationException", "ThrottlingException"])
@pytest.mark.parametrize("after", [None, ITEM_KEY])
def test_start_that_a_table_refuses_is_told_from_other_failures(
    dynamodb: Any, code: str, after: dict[str, dict[str, str]] | None
) -> None:
    """R56: only it asks for another start."""
    table = DynamoDbTable(dynamodb.client)
    dynamodb.add_client_error("scan", code)

    with pytest.raises(FailureError) as caught:
        table.scan(make_source(), segment=0, segments=1, after=after, most=1)

    is_refused = code == "ValidationException" and after is not None
    assert isinstance(caught.value, RefusedStartError) == is_refused
    assert caught.value.failure.kind is FailureKind.STORE_UNAVAILABLE
