"""A queue mapping in rare weather: batches too big for one event, an engine that is away."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from local.processes import wait_for
from local.runner.invocation import Invocation
from local.runner.mapping import Wiring
from local.runner.queue_mapping import QueueMapping
from local.runner.switches import Switch
from local.specs import QueueMappingSpec
from tests.unit.local.runner.conftest import NOWHERE
from tests.unit.local.runner.fake_place import place_with

LIMIT_SECONDS = 20.0
MEGABYTE = 1024 * 1024


class FakeQueue:
    """A queue that hands out each message once and remembers what was deleted."""

    def __init__(self, bodies: Sequence[str], *, refusals: int = 0) -> None:
        self.waiting = list(enumerate(bodies))
        self.deleted: list[str] = []
        self.refusals = refusals
        self.waits: list[int] = []

    def get_queue_url(self, **_: Any) -> Mapping[str, str]:
        return {"QueueUrl": "url"}

    def receive_message(self, **asked: Any) -> Mapping[str, Any]:
        if self.refusals:
            self.refusals -= 1
            raise EndpointConnectionError(endpoint_url=NOWHERE)
        self.waits.append(asked["WaitTimeSeconds"])
        count = asked["MaxNumberOfMessages"]
        got, self.waiting = self.waiting[:count], self.waiting[count:]
        return {
            "Messages": [
                {"MessageId": f"{n}", "ReceiptHandle": f"{n}", "Body": body, "MD5OfBody": ""}
                for n, body in got
            ]
        }

    def delete_message_batch(self, *, QueueUrl: str, Entries: Any) -> Mapping[str, Any]:  # noqa: ARG002
        self.deleted += [entry["ReceiptHandle"] for entry in Entries]
        return {}


class Polling:
    """A mapping that runs on the fake queue, and what its function saw."""

    def __init__(self, queue: FakeQueue, name: str, folder: Path) -> None:
        self.seen: list[list[str]] = []
        self.answer: Callable[[list[str]], Any] = lambda _: None
        self.stop = threading.Event()
        wiring = Wiring(place_with(queue, folder), self._invoke, Switch(enabled=True), self.stop)
        self.mapping = QueueMapping(
            QueueMappingSpec("m", "f", name, 10, 0, 2, reports_failures=True, enabled=True), wiring
        )

    def _invoke(self, event: bytes) -> Invocation:
        ids = [record["messageId"] for record in json.loads(event)["Records"]]
        self.seen.append(ids)
        return Invocation("id", json.dumps(self.answer(ids)).encode())


Poll = Callable[[FakeQueue, str], Polling]


@pytest.fixture
def poll(tmp_path: Path) -> Iterator[Poll]:
    """Make mappings that are stopped at the end."""
    made = []

    def make(queue: FakeQueue, name: str) -> Polling:
        made.append(Polling(queue, name, tmp_path))
        return made[-1]

    yield make
    for polling in made:
        polling.stop.set()
        polling.mapping.join()


def report_first(ids: list[str]) -> Any:
    """Report the first message as failed."""
    return {"batchItemFailures": [{"itemIdentifier": ids[0]}]}


def test_a_batch_over_six_megabytes_comes_in_parts(poll: Poll) -> None:
    """R82: the payload limit is kept; a failure in one part does not touch the other."""
    queue = FakeQueue(["x" * MEGABYTE] * 8)
    polling = poll(queue, "standard")
    polling.answer = report_first

    polling.mapping.start()

    assert wait_for(lambda: len(queue.deleted) == 6, LIMIT_SECONDS)
    assert polling.seen == [["0", "1", "2", "3", "4"], ["5", "6", "7"]]


def test_a_fifo_part_does_not_overtake_a_failed_one(poll: Poll) -> None:
    """R04: after a failure the rest of a received batch goes back untouched."""
    queue = FakeQueue(["x" * MEGABYTE] * 8)
    polling = poll(queue, "lane.fifo")
    polling.answer = report_first

    polling.mapping.start()
    assert wait_for(lambda: len(queue.deleted) == 4, LIMIT_SECONDS)
    switch = polling.mapping.wiring.switch
    switch.turn(enabled=False)

    assert wait_for(lambda: switch.state == "Disabled", LIMIT_SECONDS)
    assert polling.seen == [["0", "1", "2", "3", "4"]]


def test_an_engine_that_was_away_is_polled_again(poll: Poll) -> None:
    """R82: a refused poll is tried again, later each time."""
    queue = FakeQueue(["a"], refusals=3)
    polling = poll(queue, "standard")

    polling.mapping.start()

    assert wait_for(lambda: queue.deleted == ["0"], LIMIT_SECONDS)


def test_a_queue_without_messages_is_polled_more_rarely(poll: Poll) -> None:
    """R82: an idle stack costs little; its first message makes the polls short again."""
    queue = FakeQueue([])
    polling = poll(queue, "standard")

    polling.mapping.start()

    assert wait_for(lambda: len(queue.waits) >= 4, LIMIT_SECONDS)
    assert queue.waits[:4] == [1, 2, 4, 4]
    queue.waiting.append((0, "a"))
    assert wait_for(lambda: queue.deleted == ["0"], LIMIT_SECONDS)
    assert wait_for(lambda: 1 in queue.waits[4:], LIMIT_SECONDS)
