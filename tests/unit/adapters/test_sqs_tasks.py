"""SQS in trouble: each task that was not accepted is found again, and hiding never raises."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import ANY, Stubber

from functions.adapters.sqs_tasks import SqsTasks
from functions.core.failure import FailureError
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.task import Task
from tests.builders import make_message, make_task
from tests.contract.engines import client

URLS = {"normal": "https://sqs/1/normal.fifo", "bulk": "https://sqs/1/bulk"}


@pytest.fixture
def stub() -> Iterator[Any]:
    with Stubber(client("sqs", "http://127.0.0.1:9")) as stub:
        yield stub
        stub.assert_no_pending_responses()


@pytest.fixture
def queue(stub: Any) -> SqsTasks:
    return SqsTasks(stub.client, {"default": URLS})


def tasks(count: int, lane: Lane = Lane.NORMAL) -> list[Task]:
    return [make_task(document_id=DocumentId(f"d{n}"), lane=lane) for n in range(count)]


def answer(count: int, *failed: int) -> dict[str, Any]:
    return {
        "Successful": [
            {"Id": str(n), "MessageId": f"m{n}", "MD5OfMessageBody": "0"}
            for n in range(count)
            if n not in failed
        ],
        "Failed": [{"Id": str(n), "SenderFault": False, "Code": "InternalError"} for n in failed],
    }


def test_tasks_that_failed_in_a_batch_are_returned(queue: SqsTasks, stub: Any) -> None:
    """R10: SendMessageBatch answers 200 with a list of failures."""
    sent = tasks(13)
    stub.add_response("send_message_batch", answer(10, 2, 9))
    stub.add_response("send_message_batch", answer(3, 0))

    assert queue.send(sent) == [sent[2], sent[9], sent[10]]


def test_refused_call_returns_its_tasks_and_not_the_others(queue: SqsTasks, stub: Any) -> None:
    """R10: one lane's queue may be gone while the other works."""
    normal, bulk = tasks(2), tasks(2, Lane.BULK)
    stub.add_client_error("send_message_batch", "AWS.SimpleQueueService.NonExistentQueue")
    stub.add_response("send_message_batch", answer(2))

    assert queue.send([*normal, *bulk]) == normal


def test_unreachable_queue_returns_all_tasks() -> None:
    """R31: the stream brings them again."""
    queue = SqsTasks(_unreachable(), {"default": URLS})

    assert queue.send(tasks(2)) == tasks(2)


def test_hiding_that_fails_does_not_fail_the_run(queue: SqsTasks, stub: Any) -> None:
    """R10 R20: an error would bring the acknowledged messages of the batch back too."""
    message = make_message(queue="normal.fifo")
    refused = {"Successful": [], "Failed": [{"Id": "0", "SenderFault": True, "Code": "Stale"}]}
    stub.add_response("change_message_visibility_batch", refused)
    stub.add_client_error("change_message_visibility_batch", "RequestThrottled")

    queue.hide([(message, 5)])
    queue.hide([(message, 5)])

    SqsTasks(_unreachable(), {"default": URLS}).hide([(message, 5)])


def test_depth_that_sqs_does_not_tell_is_a_failure(queue: SqsTasks, stub: Any) -> None:
    """R29: taken for empty, a lane in trouble would look quiet."""
    stub.add_client_error("get_queue_attributes", "RequestThrottled")

    with pytest.raises(FailureError, match=r"the depth of queue normal\.fifo: Request"):
        queue.waiting("default")


def test_lanes_differ_in_what_they_are_sent(queue: SqsTasks, stub: Any) -> None:
    """R32: group and deduplication for FIFO, neither for standard; the trace goes along."""
    fifo, plain = make_task(trace_id="Root=1-2-3"), make_task(lane=Lane.BULK)
    stub.add_response(
        "send_message_batch",
        answer(1),
        {
            "QueueUrl": URLS["normal"],
            "Entries": [
                {
                    "Id": "0",
                    "MessageBody": fifo.to_json(),
                    "MessageGroupId": fifo.group,
                    "MessageDeduplicationId": fifo.deduplication_id,
                    "MessageSystemAttributes": {
                        "AWSTraceHeader": {"StringValue": "Root=1-2-3", "DataType": "String"}
                    },
                }
            ],
        },
    )
    stub.add_response(
        "send_message_batch",
        answer(1),
        {"QueueUrl": URLS["bulk"], "Entries": [{"Id": "0", "MessageBody": plain.to_json()}]},
    )

    assert queue.send([fifo, plain]) == []


def test_message_is_hidden_in_its_own_queue(queue: SqsTasks, stub: Any) -> None:
    """R20: an event names the queue, the call needs its URL."""
    entry = {"Id": "0", "ReceiptHandle": ANY, "VisibilityTimeout": 7}
    stub.add_response(
        "change_message_visibility_batch",
        {"Successful": [{"Id": "0"}], "Failed": []},
        {"QueueUrl": URLS["bulk"], "Entries": [entry]},
    )

    queue.hide([(make_message(queue="bulk"), 7)])


class _Unreachable:
    """A client without a network."""

    def __getattr__(self, name: str) -> Any:
        def call(**_: object) -> None:
            raise EndpointConnectionError(endpoint_url=name)

        return call


def _unreachable() -> Any:
    return _Unreachable()


@pytest.mark.parametrize(
    ("lane", "tenant", "group"),
    [
        (Lane.BULK, "acme", {"MessageGroupId": "acme"}),
        (Lane.BULK, "", {}),
        (
            Lane.NORMAL,
            "acme",
            {"MessageGroupId": make_task().group, "MessageDeduplicationId": ANY},
        ),
    ],
)
def test_tenant_is_the_message_group_of_a_standard_lane(
    queue: SqsTasks, stub: Any, lane: Lane, tenant: str, group: dict[str, Any]
) -> None:
    """R19: it makes a fair queue; in a FIFO lane the group is the document."""
    task = make_task(lane=lane, tenant=tenant)
    entry = {"Id": "0", "MessageBody": task.to_json(), **group}
    sent = {"QueueUrl": URLS[str(lane)], "Entries": [entry]}
    stub.add_response("send_message_batch", answer(1), sent)

    assert queue.send([task]) == []
