"""Dead letters go back, as AWS documents it, on the real queues."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.endpoint import AwsEndpoint
from tests.endpoint.dead_letters import Lane, make_lane

Client = Callable[[str], Any]


@pytest.fixture(params=[True, False], ids=["fifo", "standard"])
def lane(request: pytest.FixtureRequest, client: Client) -> Lane:
    """Return a lane of each kind with a DLQ."""
    return make_lane(client, fifo=request.param)


@pytest.fixture
def fifo(client: Client) -> Lane:
    """Return a FIFO lane with a DLQ."""
    return make_lane(client, fifo=True)


def test_a_dead_letter_comes_back_as_a_new_message(lane: Lane) -> None:
    """R41: redrive brings a task back with a new id and a receive count of 1."""
    (old_id,) = lane.make_dead_letters("task")

    lane.sqs.start_message_move_task(SourceArn=lane.dead_arn)

    task = lane.wait_for_task()
    assert task["Status"] == "COMPLETED"
    assert task["ApproximateNumberOfMessagesMoved"] == 1
    assert task["ApproximateNumberOfMessagesToMove"] == 1
    assert "TaskHandle" not in task
    (message,) = lane.receive(lane.url)
    assert message["Body"] == "task"
    assert message["MessageId"] != old_id
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert message["MessageAttributes"]["trace"]["StringValue"] == "of task"
    if lane.is_fifo:
        assert message["Attributes"]["MessageGroupId"] == "group"
        assert message["Attributes"]["MessageDeduplicationId"] == f"redrive-{old_id}"
    assert lane.waiting(lane.dead_url) == 0


def test_a_group_keeps_its_order(fifo: Lane) -> None:
    """R41: also over several batches."""
    bodies = [f"{number:02}" for number in range(13)]
    fifo.make_dead_letters(*bodies)

    fifo.sqs.start_message_move_task(SourceArn=fifo.dead_arn)

    assert fifo.wait_for_task()["ApproximateNumberOfMessagesMoved"] == 13
    first = fifo.receive(fifo.url)
    assert [message["Body"] for message in first] == bodies[:10]


def test_a_task_that_dies_again_can_come_back_again(fifo: Lane) -> None:
    """R41: deduplication drops neither the second dead letter nor the next redrive."""
    fifo.make_dead_letters("task")
    for _ in range(3):
        fifo.sqs.start_message_move_task(SourceArn=fifo.dead_arn)
        fifo.wait_for_task()
        fifo.receive_until_dead(1)

    assert len(fifo.sqs.list_message_move_tasks(SourceArn=fifo.dead_arn)["Results"]) == 1
    listed = fifo.sqs.list_message_move_tasks(SourceArn=fifo.dead_arn, MaxResults=10)["Results"]
    assert [task["Status"] for task in listed] == ["COMPLETED"] * 3


def test_each_dead_letter_goes_to_the_queue_it_came_from(client: Client, fifo: Lane) -> None:
    """R41: high and normal share a DLQ."""
    other = make_lane(client, fifo=True, dead_name=fifo.dead_name)
    fifo.make_dead_letters("mine")
    other.sqs.send_message(
        QueueUrl=other.url, MessageBody="other", MessageGroupId="o", MessageDeduplicationId="o"
    )
    other.receive_until_dead(2)

    fifo.sqs.start_message_move_task(SourceArn=fifo.dead_arn)

    assert fifo.wait_for_task()["ApproximateNumberOfMessagesMoved"] == 2
    assert [message["Body"] for message in fifo.receive(fifo.url)] == ["mine"]
    assert [message["Body"] for message in other.receive(other.url)] == ["other"]


def test_a_destination_takes_what_has_no_known_source(client: Client, lane: Lane) -> None:
    """R41: a message sent to the DLQ by hand needs a destination."""
    fifo = {"MessageGroupId": "g", "MessageDeduplicationId": "d"} if lane.is_fifo else {}
    lane.sqs.send_message(QueueUrl=lane.dead_url, MessageBody="by hand", **fifo)

    lane.sqs.start_message_move_task(SourceArn=lane.dead_arn)

    task = lane.wait_for_task()
    assert task["Status"] == "FAILED"
    assert task["FailureReason"] == "CouldNotDetermineMessageSource"
    assert lane.waiting(lane.dead_url) == 1
    elsewhere = make_lane(client, fifo=lane.is_fifo)
    lane.sqs.start_message_move_task(SourceArn=lane.dead_arn, DestinationArn=elsewhere.arn)
    task = lane.wait_for_task()
    assert (task["Status"], task["DestinationArn"]) == ("COMPLETED", elsewhere.arn)
    assert [message["Body"] for message in elsewhere.receive(elsewhere.url)] == ["by hand"]


def test_messages_move_no_faster_than_asked(fifo: Lane) -> None:
    """R41: MaxNumberOfMessagesPerSecond protects the readers of the queue."""
    fifo.make_dead_letters("a", "b", "c", "d", "e")
    began = time.monotonic()

    fifo.sqs.start_message_move_task(SourceArn=fifo.dead_arn, MaxNumberOfMessagesPerSecond=10)

    task = fifo.wait_for_task()
    assert time.monotonic() - began >= 0.4
    assert task["ApproximateNumberOfMessagesMoved"] == 5
    assert task["MaxNumberOfMessagesPerSecond"] == 10


def test_one_task_at_a_time_and_it_can_be_cancelled(fifo: Lane) -> None:
    """R41: a cancelled move leaves what it has not moved, at once visible."""
    fifo.make_dead_letters("a", "b", "c")
    handle = fifo.sqs.start_message_move_task(
        SourceArn=fifo.dead_arn, MaxNumberOfMessagesPerSecond=1
    )["TaskHandle"]
    running = fifo.newest_task()
    assert (running["Status"], running["TaskHandle"]) == ("RUNNING", handle)
    with pytest.raises(ClientError, match="Only one active task"):
        fifo.sqs.start_message_move_task(SourceArn=fifo.dead_arn)

    moved = fifo.sqs.cancel_message_move_task(TaskHandle=handle)

    assert moved["ApproximateNumberOfMessagesMoved"] < 3
    task = fifo.wait_for_task()
    assert task["Status"] == "CANCELLED"
    left = 3 - task["ApproximateNumberOfMessagesMoved"]
    assert fifo.waiting(fifo.dead_url) == left
    with pytest.raises(ClientError, match="Only active tasks"):
        fifo.sqs.cancel_message_move_task(TaskHandle=handle)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ({"SourceArn": "{arn}"}, "InvalidParameterValue", "must be configured as a Dead Letter"),
        ({"SourceArn": "{dead}-not"}, "ResourceNotFoundException", "SourceArn parameter doesn't"),
        ({"SourceArn": "dead"}, "InvalidParameterValue", "this format to specify the SourceArn"),
        (
            {"SourceArn": "{dead}", "DestinationArn": "{arn}-not"},
            "ResourceNotFoundException",
            "DestinationArn parameter doesn't",
        ),
        (
            {"SourceArn": "{dead}", "DestinationArn": "{dead}"},
            "InvalidParameterValue",
            "cannot be the same",
        ),
        (
            {"SourceArn": "{dead}", "MaxNumberOfMessagesPerSecond": 501},
            "InvalidParameterValue",
            "between 1 and 500",
        ),
    ],
    ids=["no-dlq", "unknown", "no-arn", "unknown-destination", "same", "too-fast"],
)
def test_a_wrong_move_is_refused_as_sqs_does(
    fifo: Lane, arguments: dict[str, Any], code: str, said: str
) -> None:
    """R41: errors in SQS's own words and codes."""
    filled = {
        key: value.format(arn=fifo.arn, dead=fifo.dead_arn) if isinstance(value, str) else value
        for key, value in arguments.items()
    }

    with pytest.raises(ClientError, match=said) as raised:
        fifo.sqs.start_message_move_task(**filled)

    assert raised.value.response["Error"]["Code"] == code


def test_a_queue_of_the_other_kind_is_no_destination(client: Client, fifo: Lane) -> None:
    """R41: FIFO goes to FIFO."""
    standard = make_lane(client, fifo=False)

    with pytest.raises(ClientError, match="same queue type"):
        fifo.sqs.start_message_move_task(SourceArn=fifo.dead_arn, DestinationArn=standard.arn)


@pytest.mark.parametrize(
    ("handle", "said"),
    [("%%", "TaskHandle is invalid"), ("eyJ0YXNrSWQiOiAiMSJ9", "Task does not exist")],
)
def test_an_unknown_handle_cancels_nothing(client: Client, handle: str, said: str) -> None:
    """R41: as SQS says it."""
    with pytest.raises(ClientError, match=said):
        client("sqs").cancel_message_move_task(TaskHandle=handle)


def _call(url: str, **fields: str) -> str:
    body = urllib.parse.urlencode({"Version": "2012-11-05", **fields}).encode()
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, body) as answer:
        return str(answer.read().decode())


def test_older_sdks_move_through_the_query_protocol(endpoint: AwsEndpoint, fifo: Lane) -> None:
    """R82: XML in, XML out."""
    fifo.make_dead_letters("task")

    started = _call(endpoint.url, Action="StartMessageMoveTask", SourceArn=fifo.dead_arn)

    fifo.wait_for_task()
    listed = _call(
        endpoint.url, Action="ListMessageMoveTasks", SourceArn=fifo.dead_arn, MaxResults="5"
    )
    assert "<StartMessageMoveTaskResult><TaskHandle>" in started
    assert "<ListMessageMoveTasksResultEntry><Status>COMPLETED</Status>" in listed
    with pytest.raises(urllib.error.HTTPError) as refused:
        _call(endpoint.url, Action="StartMessageMoveTask", SourceArn=fifo.arn)
    with refused.value as answer:
        assert answer.code == 400
        assert b"<Code>InvalidParameterValue</Code>" in answer.read()
    with pytest.raises(urllib.error.HTTPError) as incomplete:
        _call(endpoint.url, Action="StartMessageMoveTask")
    with incomplete.value as answer:
        assert b"<Code>MissingParameter</Code>" in answer.read()
    with pytest.raises(urllib.error.HTTPError) as no_number:
        _call(endpoint.url, Action="ListMessageMoveTasks", SourceArn=fifo.arn, MaxResults="x")
    with no_number.value as answer:
        assert b"Must be a number" in answer.read()


def test_the_aws_command_line_redrives(aws: Callable[..., str], fifo: Lane) -> None:
    """R41, R82: `aws sqs start-message-move-task` brings a dead letter back."""
    (old_id,) = fifo.make_dead_letters("task")

    aws("sqs", "start-message-move-task", "--source-arn", fifo.dead_arn)

    assert fifo.wait_for_task()["Status"] == "COMPLETED"
    shown = aws(
        "sqs",
        "receive-message",
        *("--queue-url", fifo.url, "--attribute-names", "All", "--query"),
        "to_string(Messages[0].[Body, Attributes.ApproximateReceiveCount, MessageId])",
    )
    body, count, new_id = json.loads(shown)
    assert (body, count) == ("task", "1")
    assert new_id != old_id
