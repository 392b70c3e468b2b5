"""EventBridge's PutEvents: accepted events are added to a file, one a line, and delivered.

moto would send them to its own queues, which are not read here. Rules, buses and all other calls
of EventBridge stay with moto.
"""

import json
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.responses import Response

from local.endpoint.messages import Request
from local.endpoint.protocols import AwsError, json_answer, parameters

# https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
ENTRIES_LIMIT = 10
TOTAL_LIMIT_BYTES = 1024 * 1024
_TIME_BYTES = 14
_REQUIRED = ("Source", "DetailType", "Detail")

Entry = Mapping[str, Any]


class Events:
    """Checks events and keeps the accepted ones."""

    def __init__(
        self,
        file: Path | None,
        *,
        region: str,
        account: str,
        deliver: Callable[[Mapping[str, Any], str], None],
    ) -> None:
        """Add to this file (None keeps nothing), and deliver each event of a bus."""
        self._file = file
        self._deliver = deliver
        self._region = region
        self._account = account
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Response:
        """Answer PutEvents: each entry gets an id or an error, in their order."""
        entries: Sequence[Entry] = parameters(request).get("Entries") or ()
        _check(entries)
        results = [_rejected(entry) or {"EventId": str(uuid.uuid4())} for entry in entries]
        accepted = [
            (self._event(entry, result["EventId"]), entry.get("EventBusName") or "default")
            for entry, result in zip(entries, results, strict=True)
            if "EventId" in result
        ]
        self._keep(event for event, _ in accepted)
        for event, bus in accepted:
            self._deliver(event, bus)
        failed = sum("ErrorCode" in result for result in results)
        return json_answer(200, {"FailedEntryCount": failed, "Entries": results})

    def _event(self, entry: Entry, event_id: str) -> dict[str, Any]:
        """Return an event as its targets would get it."""
        when = datetime.fromtimestamp(entry["Time"], UTC) if "Time" in entry else datetime.now(UTC)
        return {
            "version": "0",
            "id": event_id,
            "detail-type": entry["DetailType"],
            "source": entry["Source"],
            "account": self._account,
            "time": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": self._region,
            "resources": entry.get("Resources") or [],
            "detail": json.loads(entry["Detail"]),
        }

    def _keep(self, events: Iterable[Mapping[str, Any]]) -> None:
        lines = "".join(json.dumps(event) + "\n" for event in events)
        if self._file is None or not lines:
            return
        with self._lock, self._file.open("a") as file:
            file.write(lines)


def _check(entries: Sequence[Entry]) -> None:
    """Refuse a call as a whole."""
    if not 1 <= len(entries) <= ENTRIES_LIMIT:
        raise AwsError(
            "ValidationException",
            "1 validation error detected: Value at 'entries' failed to satisfy constraint:"
            f" Member must have length between 1 and {ENTRIES_LIMIT}",
        )
    if sum(map(_size, entries)) >= TOTAL_LIMIT_BYTES:
        message = "Total size of the entries in the request is over the limit."
        raise AwsError("ValidationException", message)


def _size(entry: Entry) -> int:
    """Count an entry's bytes as EventBridge does.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
    """
    texts = [*(entry.get(name) or "" for name in _REQUIRED), *(entry.get("Resources") or ())]
    return sum(len(text.encode()) for text in texts) + (_TIME_BYTES if "Time" in entry else 0)


def _rejected(entry: Entry) -> dict[str, str] | None:
    """Return why an entry is rejected; None if it is accepted."""
    for name in _REQUIRED:
        if not entry.get(name):
            message = f"Parameter {name} is not valid. Reason: {name} is a required argument."
            return {"ErrorCode": "InvalidArgument", "ErrorMessage": message}
    if entry["Source"].startswith("aws."):
        message = "Not authorized for the source."
        return {"ErrorCode": "NotAuthorizedForSourceException", "ErrorMessage": message}
    if not _is_object(entry["Detail"]):
        return {"ErrorCode": "MalformedDetail", "ErrorMessage": "Detail is malformed."}
    return None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
