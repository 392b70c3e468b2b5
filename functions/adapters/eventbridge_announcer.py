"""Events of ends -> EventBridge. PutEvents answers 200 with entries that failed: each is found."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from functions.core.announcement import EventDetail
from functions.core.ledger_row import Status
from functions.core.names import EVENT_SOURCE

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

# https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
MAX_ENTRIES = 10
MAX_REQUEST_BYTES = 250_000  # the limit is 256 KB for all entries of a request

DETAIL_TYPES = {
    Status.COMPLETED: "Document Completed",
    Status.PARTIALLY_COMPLETED: "Document Partially Completed",
    Status.FAILED: "Document Failed",
    Status.FAILED_MAX_RETRIES: "Document Failed",
    Status.DELETED: "Document Deleted",
    Status.SKIPPED: "Document Skipped",
}


class EventBridgeAnnouncer:
    """Puts events on one bus; without a bus it sends none."""

    def __init__(self, client: "EventBridgeClient", bus: str) -> None:
        self._client = client
        self._bus = bus

    def announce(self, details: Sequence[EventDetail]) -> list[int]:
        if not self._bus:
            return []
        entries = [self._entry(detail) for detail in details]
        return [position for request in _requests(entries) for position in self._put(request)]

    def _entry(self, detail: EventDetail) -> "PutEventsRequestEntryTypeDef":
        return {
            "EventBusName": self._bus,
            "Source": EVENT_SOURCE,
            "DetailType": DETAIL_TYPES[detail.status],
            "Detail": json.dumps(asdict(detail), separators=(",", ":")),
        }

    def _put(self, request: Mapping[int, "PutEventsRequestEntryTypeDef"]) -> list[int]:
        try:
            answer = self._client.put_events(Entries=list(request.values()))
        except (ClientError, BotoCoreError):
            return list(request)
        # In the order of the request, one for each; only those taken have an id.
        taken = [bool(entry.get("EventId")) for entry in answer["Entries"]]
        return [position for position, ok in zip(request, taken, strict=True) if not ok]


def _requests(
    entries: Sequence["PutEventsRequestEntryTypeDef"],
) -> Iterator[dict[int, "PutEventsRequestEntryTypeDef"]]:
    """Yield entries by their positions, as many as one request takes."""
    request: dict[int, PutEventsRequestEntryTypeDef] = {}
    total = 0
    for position, entry in enumerate(entries):
        size = _size(entry)
        if request and (len(request) == MAX_ENTRIES or total + size > MAX_REQUEST_BYTES):
            yield request
            request, total = {}, 0
        request[position] = entry
        total += size
    if request:
        yield request


def _size(entry: "PutEventsRequestEntryTypeDef") -> int:
    """Count what EventBridge counts; json.dumps writes ASCII only."""
    return len(entry["Source"]) + len(entry["DetailType"]) + len(entry["Detail"])
