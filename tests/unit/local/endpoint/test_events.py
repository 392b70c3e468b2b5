"""Events sent to EventBridge, kept where a test or an operator can read them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

GOOD = {"Source": "embedq", "DetailType": "Document completed", "Detail": '{"id": "a"}'}


@pytest.fixture
def events(client: Callable[[str], Any]) -> Any:
    """Return EventBridge."""
    return client("events")


def kept(events_file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in events_file.read_text().splitlines()]


def test_an_event_is_kept_as_its_targets_would_get_it(events: Any, events_file: Path) -> None:
    """R27 R82: one JSON object a line."""
    entry = {**GOOD, "Time": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "Resources": ["arn:one"]}

    sent = events.put_events(Entries=[entry])

    [result] = sent["Entries"]
    assert sent["FailedEntryCount"] == 0
    assert kept(events_file) == [
        {
            "version": "0",
            "id": result["EventId"],
            "detail-type": "Document completed",
            "source": "embedq",
            "account": "000000000000",
            "time": "2026-01-02T03:04:05Z",
            "region": "us-east-1",
            "resources": ["arn:one"],
            "detail": {"id": "a"},
        }
    ]


def test_events_of_many_calls_stand_in_their_order(events: Any, events_file: Path) -> None:
    """R27 R82: each with an id of its own and the time of its call."""
    before = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for number in range(3):
        detail = json.dumps({"n": number})
        events.put_events(Entries=[{**GOOD, "Detail": detail}, {**GOOD, "Detail": detail}])

    found = kept(events_file)

    assert [event["detail"]["n"] for event in found] == [0, 0, 1, 1, 2, 2]
    assert len({event["id"] for event in found}) == 6
    assert all(before <= event["time"] for event in found)


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"Source": ""}, "InvalidArgument", "Source is a required argument"),
        ({"DetailType": ""}, "InvalidArgument", "DetailType is a required argument"),
        ({"Detail": ""}, "InvalidArgument", "Detail is a required argument"),
        ({"Detail": "{"}, "MalformedDetail", "malformed"),
        ({"Detail": "[1]"}, "MalformedDetail", "malformed"),
        ({"Source": "aws.s3"}, "NotAuthorizedForSourceException", "Not authorized"),
    ],
    ids=["source", "type", "detail", "not-json", "no-object", "of-aws"],
)
def test_a_bad_entry_fails_alone(
    events: Any, events_file: Path, changed: dict[str, str], code: str, message: str
) -> None:
    """R27 R82: the answer says which one, and the good one is kept."""
    sent = events.put_events(Entries=[{**GOOD, **changed}, GOOD])

    bad, good = sent["Entries"]
    assert sent["FailedEntryCount"] == 1
    assert bad["ErrorCode"] == code
    assert message in bad["ErrorMessage"]
    assert [event["id"] for event in kept(events_file)] == [good["EventId"]]


@pytest.mark.parametrize(
    "entries",
    [[GOOD] * 11, [{**GOOD, "Detail": json.dumps({"text": "x" * 600_000})}] * 2],
    ids=["eleven", "over-one-megabyte"],
)
def test_a_call_that_is_too_large_is_refused_whole(
    events: Any, events_file: Path, entries: list[dict[str, str]]
) -> None:
    """R27 R82: nothing of it is kept."""
    with pytest.raises(ClientError) as raised:
        events.put_events(Entries=entries)

    assert raised.value.response["Error"]["Code"] == "ValidationException"
    assert not events_file.exists()


def test_the_rest_of_eventbridge_is_there(events: Any) -> None:
    """R82: rules and buses stay with moto."""
    assert [bus["Name"] for bus in events.list_event_buses()["EventBuses"]] == ["default"]
