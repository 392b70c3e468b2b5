"""Events on a bus: all that fit in a request, each refusal found again."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.stub import Stubber
from moto import mock_aws

from functions.adapters.eventbridge_announcer import EventBridgeAnnouncer
from functions.core.announcement import EventDetail, event_detail
from functions.core.identity import DocumentId
from functions.core.ledger_row import Status
from local.aws_client import REGION
from tests.builders import NOW_MS, make_row
from tests.contract.engines import client

PAGE = Path(__file__).resolve().parents[3] / "docs/events.md"


def ending(name: str = "a", **changes: Any) -> EventDetail:
    row = make_row(document_id=DocumentId(name), **{"status": Status.COMPLETED} | changes)
    return event_detail(row, stage="prod", at_ms=NOW_MS)


class Bus:
    """A bus of moto with a rule that puts what matches into a queue."""

    def __init__(self, pattern: Mapping[str, Any]) -> None:
        events, self._sqs = client("events"), client("sqs")
        events.create_event_bus(Name="documents")
        self._queue = self._sqs.create_queue(QueueName="seen")["QueueUrl"]
        events.put_rule(Name="all", EventBusName="documents", EventPattern=json.dumps(pattern))
        arn = f"arn:aws:sqs:{REGION}:123456789012:seen"
        events.put_targets(
            Rule="all", EventBusName="documents", Targets=[{"Id": "queue", "Arn": arn}]
        )

    def seen(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while batch := self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10).get(
            "Messages"
        ):
            found += [json.loads(message["Body"]) for message in batch]
        return found


@pytest.fixture
def aws() -> Iterator[None]:
    with mock_aws():
        yield


@pytest.fixture
def stub() -> Iterator[Any]:
    with Stubber(client("events", "http://127.0.0.1:9")) as stub:
        yield stub
        stub.assert_no_pending_responses()


def answer(count: int, *failed: int) -> dict[str, Any]:
    return {
        "FailedEntryCount": len(failed),
        "Entries": [
            {"ErrorCode": "InternalFailure"} if number in failed else {"EventId": f"event-{number}"}
            for number in range(count)
        ],
    }


@pytest.mark.usefixtures("aws")
def test_every_ending_reaches_the_bus() -> None:
    """R27: also those of a batch larger than one request takes."""
    bus = Bus({"source": ["embedq"]})
    endings = [ending(f"d{number}") for number in range(23)]

    refused = EventBridgeAnnouncer(client("events"), "documents").announce(endings)

    assert refused == []
    seen = sorted(bus.seen(), key=lambda event: int(event["detail"]["document_id"][1:]))
    assert [event["detail"] for event in seen] == [asdict(one) for one in endings]
    assert {event["detail-type"] for event in seen} == {"Document Completed"}


@pytest.mark.usefixtures("aws")
def test_rule_of_the_page_picks_what_needs_a_person() -> None:
    """R27: the pattern that a newcomer copies works."""
    pattern = json.loads(re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)[2])
    bus = Bus(pattern)

    EventBridgeAnnouncer(client("events"), "documents").announce(
        [ending(str(status), status=status) for status in Status if not status.is_open]
    )

    assert {event["detail"]["status"] for event in bus.seen()} == {
        Status.FAILED,
        Status.FAILED_MAX_RETRIES,
        Status.PARTIALLY_COMPLETED,
    }


def test_refused_entries_are_found_again_by_position(stub: Any) -> None:
    """R27: PutEvents answers 200 with a list of failures."""
    stub.add_response("put_events", answer(10, 2, 9))
    stub.add_response("put_events", answer(3, 0))

    refused = EventBridgeAnnouncer(stub.client, "documents").announce([ending()] * 13)

    assert refused == [2, 9, 10]


def test_failed_request_refuses_its_own_entries(stub: Any) -> None:
    """R27 R31: the other request of the batch is not sent twice."""
    stub.add_client_error("put_events", "ThrottlingException")
    stub.add_response("put_events", answer(2))

    refused = EventBridgeAnnouncer(stub.client, "documents").announce([ending()] * 12)

    assert refused == list(range(10))


def test_unreachable_bus_refuses_all() -> None:
    """R31: the network is no excuse to raise."""
    assert EventBridgeAnnouncer(_unreachable(), "documents").announce([ending()] * 2) == [0, 1]


def test_request_stays_below_the_limits() -> None:
    """R27: long ids and reasons do not fit in one request with nine others."""
    endings = [ending("☃" * 2048, reason="☃" * size) for size in (0, 30_000, 500, 12_000)] * 4

    assert EventBridgeAnnouncer(_strict(), "documents").announce(endings) == []


def test_without_a_bus_nobody_is_told() -> None:
    """R27: events are an offer; nothing is called where nobody wants them."""
    assert EventBridgeAnnouncer(_unreachable(), "").announce([ending()]) == []


class _Strict:
    """A bus that takes what EventBridge takes, and refuses the whole request otherwise."""

    def put_events(self, *, Entries: list[dict[str, str]]) -> dict[str, Any]:
        sent = "".join(e["Source"] + e["DetailType"] + e["Detail"] for e in Entries)
        if len(Entries) > 10 or len(sent.encode()) >= 256 * 1024:
            raise ClientError({"Error": {"Code": "ValidationException"}}, "PutEvents")
        return answer(len(Entries))


def _strict() -> Any:
    return _Strict()


class _Unreachable:
    """A client without a network."""

    def put_events(self, **_: object) -> None:
        raise EndpointConnectionError(endpoint_url="events")


def _unreachable() -> Any:
    return _Unreachable()
