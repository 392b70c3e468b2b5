"""Each engine does, through the usual client, the one thing that embedq needs it for."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from opensearchpy import OpenSearch

from local.engines.dynamodb import DATABASE, STREAM_INDEXES
from local.engines.elasticmq import ElasticMq
from local.engines.engine import launch, place_for, wait_until_ready
from local.engines.fetch import fetch_all
from local.engines.java import choose_java
from local.engines.progress import FetchProgress
from local.processes import Processes
from tests.engines.session_engine import SessionEngine

Client = Callable[[str, str], Any]


def test_dynamodb_streams_a_write(client: Client, dynamodb_url: str) -> None:
    """R82: DynamoDB Local with streams."""
    tables, streams = client("dynamodb", dynamodb_url), client("dynamodbstreams", dynamodb_url)
    stream = tables.create_table(
        TableName="streamed",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )["TableDescription"]["LatestStreamArn"]

    tables.put_item(TableName="streamed", Item={"id": {"S": "a"}})

    [shard] = streams.describe_stream(StreamArn=stream)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(
        StreamArn=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    [record] = streams.get_records(ShardIterator=iterator)["Records"]
    assert record["dynamodb"]["NewImage"] == {"id": {"S": "a"}}


def test_stream_records_are_indexed(dynamodb_engine: SessionEngine) -> None:
    """R82: writes do not get slower with every stream record."""
    database = dynamodb_engine.data / DATABASE
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE tbl_name = 'us'")
        names = {name for (name,) in rows}

    assert set(STREAM_INDEXES) < names


def test_engines_listen_on_this_machine_only(
    dynamodb_url: str, sqs_url: str, opensearch_url: str
) -> None:
    """R82: nothing on the network can reach what they hold."""
    ports = {urlsplit(url).port for url in (dynamodb_url, sqs_url, opensearch_url)}
    listening = {
        (connection.laddr.port, ip_address(connection.laddr.ip))
        for connection in psutil.net_connections("tcp")
        if connection.laddr
        and connection.status == psutil.CONN_LISTEN
        and connection.laddr.port in ports
    }

    assert {port for port, _ in listening} == ports
    assert [address for _, address in listening if not _is_loopback(address)] == []


def _is_loopback(address: IPv4Address | IPv6Address) -> bool:
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def test_sqs_keeps_the_order_of_a_group(client: Client, sqs_url: str) -> None:
    """R82: ElasticMQ as SQS, with the ARNs of AWS."""
    sqs = client("sqs", sqs_url)
    queue = sqs.create_queue(QueueName="ordered.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]

    for number in ("1", "2"):
        sqs.send_message(
            QueueUrl=queue, MessageBody=number, MessageGroupId="g", MessageDeduplicationId=number
        )

    answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
    assert [message["Body"] for message in answer["Messages"]] == ["1", "2"]
    assert queue_arn(sqs, queue) == "arn:aws:sqs:us-east-1:000000000000:ordered.fifo"


def test_region_and_account_of_the_queues_can_be_chosen(client: Client, tmp_path: Path) -> None:
    """R82: the ARNs match those of the template."""
    kind = ElasticMq(region="eu-central-1", account="123456789012")
    files = fetch_all(kind.artifacts, FetchProgress())
    place = place_for(kind.key, tmp_path, in_memory=False)
    with Processes() as processes:
        engine = launch(kind, files, choose_java(short_lived=True), place, processes)
        wait_until_ready([engine], log=lambda _: None)
        sqs = client("sqs", engine.url)
        queue = sqs.create_queue(QueueName="plain")["QueueUrl"]

        assert queue_arn(sqs, queue) == "arn:aws:sqs:eu-central-1:123456789012:plain"
        assert queue == f"{engine.url}/123456789012/plain"


def test_opensearch_finds_the_nearest_vector(
    search_client: Callable[[str], OpenSearch], opensearch_url: str
) -> None:
    """R82: OpenSearch with k-NN, engine lucene, nested vectors and a filter."""
    index = {
        "settings": {"index.knn": True},
        "mappings": {"properties": {"chunks": {"type": "nested", "properties": {"v": VECTOR}}}},
    }
    query = {"knn": {"chunks.v": {"vector": [1, 0.1], "k": 1, "filter": {"term": {"live": True}}}}}
    with search_client(opensearch_url) as search:
        search.indices.create(index="nearest", body=index)
        for name, vector in (("east", [1, 0]), ("north", [0, 1])):
            search.index(
                index="nearest",
                id=name,
                body={"live": True, "chunks": [{"v": vector}]},
                params={"refresh": "true", "version": 5, "version_type": "external"},
            )

        found = search.search(
            index="nearest", body={"query": {"nested": {"path": "chunks", "query": query}}}
        )

    assert [hit["_id"] for hit in found["hits"]["hits"]] == ["east"]


VECTOR = {
    "type": "knn_vector",
    "dimension": 2,
    "method": {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
}


def queue_arn(sqs: Any, queue: str) -> str:
    """Return the ARN that SQS tells for a queue."""
    answer = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    return str(answer["Attributes"]["QueueArn"])
