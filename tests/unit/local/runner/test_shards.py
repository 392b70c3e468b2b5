"""Shards are read in the order of their lineage, and each record comes to one end."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local.processes import wait_for
from local.runner.invocation import Invocation, throttled
from local.runner.mapping import Wiring
from local.runner.stream_event import created_seconds
from local.runner.stream_mapping import StreamMapping
from local.runner.switches import Switch
from local.specs import StreamMappingSpec
from tests.unit.local.runner.fake_place import place_with
from tests.unit.local.runner.stream_samples import make_engine_record, make_spec

STREAM = "arn:aws:dynamodb:ddblocal:000000000000:table/table/stream/label"
LIMIT_SECONDS = 20.0


class TrimmedDataAccessError(Exception):
    """The stream no longer has the record."""


@dataclass
class FakeEngine:
    """Tables, streams and buckets in one: shards by id with parent, records and an end."""

    shards: Mapping[str, tuple[str, Sequence[Mapping[str, Any]], bool]]
    trimmed: bool = False
    objects: list[Any] = field(default_factory=list)

    class exceptions:
        TrimmedDataAccessException = TrimmedDataAccessError

    def describe_table(self, **_: Any) -> Any:
        return {"Table": {"LatestStreamArn": STREAM}}

    def describe_stream(self, **where: Any) -> Any:
        names = list(self.shards)
        start = names.index(where.get("ExclusiveStartShardId", "")) + 1 if len(where) > 1 else 0
        page = names[start : start + 1]
        shards = [{"ShardId": name, "ParentShardId": self.shards[name][0]} for name in page]
        more = {"LastEvaluatedShardId": page[0]} if start + 1 < len(names) else {}
        return {"StreamDescription": {"Shards": shards, **more}}

    def get_shard_iterator(self, *, ShardId: str, ShardIteratorType: str, **where: Any) -> Any:
        after = int(where.get("SequenceNumber", -1))
        if after >= 0 and self.trimmed:
            raise TrimmedDataAccessError
        return {"ShardIterator": f"{ShardId} {after} {ShardIteratorType}"}

    def get_records(self, *, ShardIterator: str, Limit: int) -> Any:
        shard, after, kind = ShardIterator.split()
        _, records, is_closed = self.shards[shard]
        left = [r for r in records if int(r["dynamodb"]["SequenceNumber"]) > int(after)]
        page = left[:Limit]
        last = page[-1]["dynamodb"]["SequenceNumber"] if page else after
        ended = is_closed and len(page) == len(left)
        following = {} if ended else {"NextShardIterator": f"{shard} {last} {kind}"}
        return {"Records": page, **following}

    def put_object(self, **what: Any) -> None:
        self.objects.append(json.loads(what["Body"]))


class Reading:
    """A mapping that runs on the fake engine, and what its function saw."""

    def __init__(self, folder: Path, engine: FakeEngine, spec: StreamMappingSpec) -> None:
        self.seen: list[list[int]] = []
        self.created: dict[int, int] = {}
        self.answer: Callable[[list[int]], Invocation] = lambda _: Invocation("id")
        self._stop = threading.Event()
        place = place_with(engine, folder)
        switch = Switch(enabled=True)
        self.mapping = StreamMapping(spec, Wiring(place, self._invoke, switch, self._stop))

    def __enter__(self) -> "Reading":
        self.mapping.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self.mapping.join()

    def _invoke(self, event: bytes) -> Invocation:
        records = json.loads(event)["Records"]
        numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
        self.created |= dict(zip(numbers, map(created_seconds, records), strict=True))
        self.seen.append(numbers)
        return self.answer(numbers)

    def wait(self, is_so: Callable[[], bool]) -> None:
        assert wait_for(is_so, LIMIT_SECONDS), self.seen


def records(*numbers: int, created: int | None = None) -> list[Mapping[str, Any]]:
    """Return records as the streams API answers them."""
    when = round(time.time()) if created is None else created
    return [make_engine_record(number, when) for number in numbers]


def test_a_child_begins_when_its_parent_is_done(tmp_path: Path) -> None:
    """R03: the order of a document's changes holds over a split of its shard."""
    engine = FakeEngine(
        {
            "child": ("parent", records(4, 5), False),
            "parent": ("gone", records(1, 2, 3), True),
            "other": ("", records(9), False),
        }
    )
    reading = Reading(tmp_path, engine, make_spec(batch_size=2))

    with reading:
        reading.wait(lambda: sum(map(len, reading.seen)) == 6)

    assert [batch for batch in reading.seen if batch != [9]] == [[1, 2], [3], [4, 5]]


def test_a_record_is_not_older_than_a_look_that_found_none(tmp_path: Path) -> None:
    """R82: the engine knows the minute only; in AWS it is the second."""
    written, empty = list(records(1)), threading.Event()
    engine = FakeEngine({"s": ("", written, False)})
    ask, began = engine.get_records, int(time.time())

    def asked(**what: Any) -> Any:
        answer = ask(**what)
        if not answer["Records"]:
            empty.set()
        return answer

    engine.get_records = asked  # type: ignore[method-assign]
    reading = Reading(tmp_path, engine, make_spec())

    with reading:
        reading.wait(lambda: reading.seen == [[1]])
        empty.clear()
        assert empty.wait(LIMIT_SECONDS)
        written.extend(records(2, created=began - 59))
        reading.wait(lambda: reading.seen == [[1], [2]])

    assert began <= reading.created[2] <= time.time()


def test_a_closed_parent_is_not_read_again(tmp_path: Path) -> None:
    """R82: the checkpoint knows that a shard has come to its end."""
    parent = ("", records(1), True)
    shards = {"parent": parent, "child": ("parent", records(2), False)}
    with Reading(tmp_path, FakeEngine(shards), make_spec()) as before:
        before.wait(lambda: before.seen == [[1], [2]])
    shards = {"parent": parent, "child": ("parent", records(2, 3), False)}
    reading = Reading(tmp_path, FakeEngine(shards), make_spec())

    with reading:
        reading.wait(lambda: reading.seen == [[3]])


def test_a_throttle_spends_no_retry(tmp_path: Path) -> None:
    """R82: what did not run is tried again until it does."""
    reading = Reading(
        tmp_path, FakeEngine({"s": ("", records(1, 2), False)}), make_spec(max_retries=0)
    )
    reading.answer = lambda _: throttled("id") if len(reading.seen) < 3 else Invocation("id")

    with reading:
        reading.wait(lambda: len(reading.seen) == 3)

    assert reading.seen == [[1, 2]] * 3
    assert reading.mapping.wiring.counter.counts.throttles == 2


def test_records_over_the_age_are_given_up_unrun(tmp_path: Path) -> None:
    """R82: MaximumRecordAge; the object says why."""
    old = records(1, 2, created=1_000_000_000)
    engine = FakeEngine({"s": ("", [*old, *records(3)], False)})
    reading = Reading(tmp_path, engine, make_spec(max_age_seconds=3600))

    with reading:
        reading.wait(lambda: reading.seen == [[3]])

    [kept] = engine.objects
    assert kept["requestContext"]["condition"] == "RecordAgeExceeded"
    assert kept["DDBStreamBatchInfo"]["startSequenceNumber"] == "1"
    assert kept["DDBStreamBatchInfo"]["endSequenceNumber"] == "2"


def test_a_checkpoint_older_than_the_stream_goes_on_at_its_beginning(tmp_path: Path) -> None:
    """R82: after more than a day off, what is still there is read."""
    with Reading(tmp_path, FakeEngine({"s": ("", records(1), False)}), make_spec()) as before:
        before.wait(lambda: before.seen == [[1]])
    engine = FakeEngine({"s": ("", records(7, 8), False)}, trimmed=True)
    reading = Reading(tmp_path, engine, make_spec())

    with reading:
        reading.wait(lambda: reading.seen == [[7, 8]])


def test_a_bucket_that_is_away_holds_the_shard(tmp_path: Path) -> None:
    """R82: a record is passed only when it is kept; until then nothing overtakes it."""
    engine = FakeEngine({"s": ("", records(1, 2), False)})
    keep, tries = engine.put_object, []

    def refuse_once(**what: Any) -> None:
        tries.append(what)
        if len(tries) == 1:
            raise ConnectionError
        keep(**what)

    engine.put_object = refuse_once  # type: ignore[method-assign]
    reading = Reading(tmp_path, engine, make_spec(max_retries=0, batch_size=1))
    failed = Invocation("id", b"", {"errorType": "E"})
    reading.answer = lambda numbers: failed if numbers == [1] else Invocation("id")

    with reading:
        reading.wait(lambda: reading.seen[-1:] == [[2]])

    assert reading.seen == [[1], [1], [2]]
    assert len(engine.objects) == 1
