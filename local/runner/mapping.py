"""What every event source mapping has: its function, its switch, its counts and its source."""

import json
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.runner.invocation import PAYLOAD_LIMIT_BYTES, Invocation
from local.runner.place import RunnerPlace
from local.runner.switches import Switch
from local.specs import QueueMappingSpec, StreamMappingSpec

logger = logging.getLogger(__name__)

Record = Mapping[str, Any]
Invoke = Callable[[bytes], Invocation]
# How long a mapping may wait before it checks its switch.
SWITCH_SECONDS = 0.2
# AWS polls for up to 20 s. A poll that is abandoned spends a receive, so a mapping that is stopped
# or disabled waits for its end; hence short ones, and a little longer ones where nothing comes.
POLL_SECONDS = 1
LONGEST_POLL_SECONDS = 4
WINDOW_STEP_SECONDS = 0.1


class Backoff:
    """A wait that doubles up to its limit, and starts again at the first after a reset."""

    def __init__(self, first_seconds: float, limit_seconds: float) -> None:
        self._first = first_seconds
        self._limit = limit_seconds
        self._next = first_seconds

    def reset(self) -> None:
        """Start again: there was something, or it worked."""
        self._next = self._first

    def wait(self, stop: Event) -> None:
        """Wait, unless the runner stops."""
        stop.wait(self._next)
        self._next = min(2 * self._next, self._limit)


@dataclass(frozen=True)
class MappingCounts:
    """Batches and what became of their messages or records."""

    batches: int = 0
    messages: int = 0
    failures: int = 0  # messages or records reported or lost with their run; they come again
    errors: int = 0  # invocations that ended in an error
    throttles: int = 0
    discarded: int = 0  # records given up and kept by the on-failure destination


class Counter:
    """The counts of one mapping, added up by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts = MappingCounts()

    def add(self, **more: int) -> None:
        """Add to some of the counts."""
        with self._lock:
            known = {name: getattr(self.counts, name) + count for name, count in more.items()}
            self.counts = replace(self.counts, **known)

    def add_run(self, invocation: Invocation, items: int, failures: int) -> None:
        """Add one run of the function on a batch."""
        self.add(
            batches=1,
            messages=items,
            failures=failures,
            errors=invocation.error is not None and not invocation.is_throttled,
            throttles=invocation.is_throttled,
        )


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
        """Return whether the mapping should go on."""
        return self.switch.is_on and not self.stop.is_set()


class Source(ABC):
    """A queue or a shard, read in batches as Lambda collects them.

    https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html
    """

    is_closed = False  # a shard that was read to its end

    def __init__(self, name: str, spec: QueueMappingSpec | StreamMappingSpec, wiring: Wiring):
        self._name = name
        self._batch_size = spec.batch_size
        self._window_seconds = spec.window_seconds
        self._wiring = wiring
        self._poll_seconds = POLL_SECONDS

    @abstractmethod
    def read(self, count: int, wait_seconds: int) -> list[Record]:
        """Return up to so many records, waiting for the first of them."""

    def restart(self) -> None:  # noqa: B027 - a queue has no place
        """Forget a place that is no longer certain."""

    def collect(self) -> list[Record]:
        """Return a batch: full, or what one read or the window brought; empty if nothing came."""
        batch = self.read(self._batch_size, self._poll_seconds)
        longer = min(2 * self._poll_seconds, LONGEST_POLL_SECONDS)
        self._poll_seconds = POLL_SECONDS if batch else longer
        end = time.monotonic() + self._window_seconds
        size = sum(map(size_of, batch))
        while batch and self._may_wait(len(batch), size):
            left = end - time.monotonic()
            if left <= 0:
                break
            try:
                more = self.read(self._batch_size - len(batch), int(min(left, POLL_SECONDS)))
            except (BotoCoreError, ClientError) as error:
                logger.warning("%s cannot be read: %s", self._name, error)
                self.restart()
                break
            batch += more
            size += sum(map(size_of, more))
            if not more:
                self._wiring.stop.wait(min(left, WINDOW_STEP_SECONDS))
        return batch

    def _may_wait(self, count: int, size: int) -> bool:
        has_room = count < self._batch_size and size < PAYLOAD_LIMIT_BYTES
        return has_room and self._wiring.is_working and not self.is_closed


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
