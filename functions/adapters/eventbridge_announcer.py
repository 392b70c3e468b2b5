"""Events of ends -> EventBridge. PutEvents answers 200 with entries that failed: each is found."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from functions.core.announcement import EventDetail
from functions.core.batches import batches_by_size
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
        entries = enumerate(map(self._entry, details))
        requests = batches_by_size(
            entries, _size, max_size=MAX_REQUEST_BYTES, max_items=MAX_ENTRIES
        )
        return [position for request in requests for position in self._put(dict(request))]

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


def _size(numbered: tuple[int, "PutEventsRequestEntryTypeDef"]) -> int:
    """Count what EventBridge counts; json.dumps writes ASCII only."""
    _, entry = numbered
    return len(entry["Source"]) + len(entry["DetailType"]) + len(entry["Detail"])
