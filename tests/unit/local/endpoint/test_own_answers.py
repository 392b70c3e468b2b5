"""What the endpoint answers without an engine."""

import http.client
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError

from local.endpoint import AwsEndpoint
from local.specs import StackSpec


def outputs_of(name: str, **outputs: str) -> StackSpec:
    return StackSpec(name, [], [], [], [], [], [], [], outputs=outputs)


def test_a_stack_lists_its_outputs(endpoint: AwsEndpoint, client: Callable[[str], Any]) -> None:
    """R82: a command line finds a stage's parts as it does in AWS."""
    endpoint.serve_stack(outputs_of("embedq-local", LedgerTable="ledger", Url="http://a?b=1&c=<2>"))
    cloudformation = client("cloudformation")

    (stack,) = cloudformation.describe_stacks(StackName="embedq-local")["Stacks"]

    assert stack["StackStatus"] == "CREATE_COMPLETE"
    assert stack["Outputs"] == [
        {"OutputKey": "LedgerTable", "OutputValue": "ledger"},
        {"OutputKey": "Url", "OutputValue": "http://a?b=1&c=<2>"},
    ]
    by_id = cloudformation.describe_stacks(StackName=stack["StackId"])["Stacks"]
    assert by_id == [stack] == cloudformation.describe_stacks()["Stacks"]


def test_an_unknown_stack_is_a_validation_error(client: Callable[[str], Any]) -> None:
    """R82: as CloudFormation says it."""
    cloudformation = client("cloudformation")

    with pytest.raises(ClientError, match="Stack with id nope does not exist") as raised:
        cloudformation.describe_stacks(StackName="nope")

    assert raised.value.response["Error"]["Code"] == "ValidationError"
    assert cloudformation.describe_stacks()["Stacks"] == []


def test_the_small_services_have_our_account(client: Callable[[str], Any]) -> None:
    """R82: ARNs of moto fit those of the template."""
    made = client("secretsmanager").create_secret(Name="key-of-test", SecretString="value")

    assert made["ARN"].startswith(
        "arn:aws:secretsmanager:us-east-1:000000000000:secret:key-of-test-"
    )
    found = client("secretsmanager").get_secret_value(
        SecretId="arn:aws:secretsmanager:us-east-1:000000000000:secret:key-of-test"
    )
    assert found["SecretString"] == "value"


def test_objects_are_kept(client: Callable[[str], Any]) -> None:
    """R82: the stash has a place."""
    s3 = client("s3")
    s3.create_bucket(Bucket="stash-of-test")
    s3.put_object(Bucket="stash-of-test", Key="a/b c", Body=b"\x00vectors")

    assert s3.get_object(Bucket="stash-of-test", Key="a/b c")["Body"].read() == b"\x00vectors"
    assert s3.head_object(Bucket="stash-of-test", Key="a/b c")["ContentLength"] == 8
    with pytest.raises(s3.exceptions.NoSuchKey):
        s3.get_object(Bucket="stash-of-test", Key="none")


def test_failed_changes_are_found_read_and_removed(client: Callable[[str], Any]) -> None:
    """R29 R31 R82: the sweep replays the stream's failed records page by page."""
    s3 = client("s3")
    s3.create_bucket(Bucket="failed-of-test")
    keys = [f"aws/lambda/mapping/shard/{number}" for number in range(3)]
    for key in keys:
        s3.put_object(Bucket="failed-of-test", Key=key, Body=key.encode())

    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket="failed-of-test", Prefix="aws/lambda/", PaginationConfig={"PageSize": 2}
    )
    found = [entry["Key"] for page in pages for entry in page["Contents"]]
    assert found == keys
    assert s3.get_object(Bucket="failed-of-test", Key=keys[1])["Body"].read() == keys[1].encode()

    for _ in range(2):  # a second delete finds nothing, and that is no error
        s3.delete_object(Bucket="failed-of-test", Key=keys[0])
    left = s3.list_objects_v2(Bucket="failed-of-test")
    assert [entry["Key"] for entry in left["Contents"]] == keys[1:]


def test_a_body_in_chunks_arrives_whole(
    endpoint: AwsEndpoint, client: Callable[[str], Any]
) -> None:
    """R82: SDKs that do not know a body's length send it in chunks."""
    s3 = client("s3")
    s3.create_bucket(Bucket="chunks-of-test")
    connection = http.client.HTTPConnection(urlsplit(endpoint.url).netloc)

    scope = "Credential=a/20260101/us-east-1/s3/aws4_request"
    for part in ("one", "two"):  # the same connection serves both
        connection.request(
            "PUT",
            f"/chunks-of-test/{part}",
            iter([part.encode(), b"-", b"end"]),
            {"Authorization": f"AWS4-HMAC-SHA256 {scope}, Signature=0"},
            encode_chunked=True,
        )
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.close()

    assert s3.get_object(Bucket="chunks-of-test", Key="two")["Body"].read() == b"two-end"


@pytest.mark.parametrize(("service", "call"), [("dynamodb", "list_tables"), ("sqs", "list_queues")])
def test_a_dead_engine_is_a_service_that_is_unavailable(
    client: Callable[[str], Any], service: str, call: str
) -> None:
    """R82: an SDK tries again, as it would against AWS."""
    with pytest.raises(ClientError, match="the engine does not answer") as raised:
        getattr(client(service), call)()

    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
