"""What every event source mapping has: its function, its switch, its counts and its end."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from local.runner.counts import Counter
from local.runner.invocation import PAYLOAD_LIMIT_BYTES, Invocation
from local.runner.place import RunnerPlace
from local.runner.switches import Switch

Record = Mapping[str, Any]
Invoke = Callable[[bytes], Invocation]
# How long a mapping may look away before it sees its switch.
SWITCH_SECONDS = 0.2


@dataclass(frozen=True)
class Wiring:
    """How a mapping is joined to the rest of the runner."""

    place: RunnerPlace
    invoke: Invoke
    switch: Switch
    stop: Event
    counter: Counter = field(default_factory=Counter)

    @property
    def is_working(self) -> bool:
        """Tell whether the mapping should go on."""
        return self.switch.is_on and not self.stop.is_set()


def event_of(records: Sequence[Record]) -> bytes:
    """Return the event that carries these records."""
    return json.dumps({"Records": list(records)}, separators=(",", ":")).encode()


def size_of(record: Record) -> int:
    """Return the bytes that a record takes in an event."""
    return len(json.dumps(record, separators=(",", ":"))) + 1


def split_by_payload(
    records: Sequence[Record], limit_bytes: int = PAYLOAD_LIMIT_BYTES
) -> Iterator[list[Record]]:
    """Cut records, in order, into events that a function can take."""
    room = limit_bytes - len(event_of([]))
    part: list[Record] = []
    taken = 0
    for record in records:
        size = size_of(record)
        if part and taken + size > room:
            yield part
            part, taken = [], 0
        part.append(record)
        taken += size
    if part:
        yield part
