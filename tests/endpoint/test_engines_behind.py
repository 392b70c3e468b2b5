"""Tables, streams and queues through the one address, by boto3 and by the aws command line."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from local.endpoint import AwsEndpoint

Client = Callable[[str], Any]


@pytest.fixture
def table(client: Client) -> str:
    """Make a table with a stream and return its name."""
    name = f"table-{uuid.uuid4().hex[:8]}"
    client("dynamodb").create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    return name


def test_a_write_shows_in_the_stream(client: Client, table: str) -> None:
    """R82: DynamoDB and its streams at one address, with ARNs of one region."""
    dynamodb, streams = client("dynamodb"), client("dynamodbstreams")
    dynamodb.put_item(TableName=table, Item={"id": {"S": "a"}, "text": {"S": "hello"}})

    arn = dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"]
    shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shards[0]["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    records = streams.get_records(ShardIterator=iterator)["Records"]

    assert arn.startswith(f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}/stream/")
    assert [record["dynamodb"]["NewImage"]["text"]["S"] for record in records] == ["hello"]
    assert [found["StreamArn"] for found in streams.list_streams(TableName=table)["Streams"]] == [
        arn
    ]


def test_a_document_keeps_the_words_that_the_engine_uses(client: Client, table: str) -> None:
    """R82: only descriptions are rewritten, never data."""
    item = {"id": {"S": "a"}, "text": {"S": "arn:aws:dynamodb:ddblocal:1:table/x"}}

    client("dynamodb").put_item(TableName=table, Item=item)

    assert client("dynamodb").get_item(TableName=table, Key={"id": {"S": "a"}})["Item"] == item


def test_queue_urls_lead_back_to_the_endpoint(endpoint: AwsEndpoint, client: Client) -> None:
    """R82: an SDK that follows a queue's URL stays at the one address."""
    sqs = client("sqs")
    name = f"queue-{uuid.uuid4().hex[:8]}"

    made = sqs.create_queue(QueueName=name)["QueueUrl"]

    assert made == f"{endpoint.url}/000000000000/{name}"
    assert sqs.get_queue_url(QueueName=name)["QueueUrl"] == made
    assert sqs.list_queues(QueueNamePrefix=name)["QueueUrls"] == [made]
    sqs.send_message(QueueUrl=made, MessageBody=endpoint.url)
    (message,) = sqs.receive_message(QueueUrl=made)["Messages"]
    assert message["Body"] == endpoint.url


def test_the_aws_command_line_works_unchanged(
    client: Client, aws: Callable[..., str], table: str
) -> None:
    """R82: AWS_ENDPOINT_URL is all it needs."""
    url = client("sqs").create_queue(QueueName=f"{table}-queue")["QueueUrl"]

    item = '{"id": {"S": "cli"}, "text": {"S": "typed"}}'
    aws("dynamodb", "put-item", "--table-name", table, "--item", item)
    aws("sqs", "send-message", "--queue-url", url, "--message-body", "from the shell")

    found = client("dynamodb").get_item(TableName=table, Key={"id": {"S": "cli"}})
    assert found["Item"]["text"]["S"] == "typed"
    (message,) = client("sqs").receive_message(QueueUrl=url)["Messages"]
    assert message["Body"] == "from the shell"
