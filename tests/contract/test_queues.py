"""The lanes: what SQS promises about order, repetition, hiding and dead letters.

moto keeps few of these promises (docs/engine-differences.md), so it runs only in the last part.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from functions.core.identity import DocumentId, tenant_group
from functions.core.lane import Lane
from functions.core.ports import Message
from functions.core.task import Task, parse_task
from tests.builders import NOW_MS, make_task
from tests.contract.engines import real
from tests.contract.queue_engines import (
    FORMER,
    LANES,
    MAX_RECEIVES,
    TARGET,
    MemoryEngine,
    QueueEngine,
    queue_engine,
)


@pytest.fixture(params=["memory", real("elasticmq")])
def engine(request: pytest.FixtureRequest) -> Iterator[QueueEngine]:
    with queue_engine(request, request.param) as engine:
        yield engine


@pytest.fixture(params=["memory", "moto", real("elasticmq")])
def any_engine(request: pytest.FixtureRequest) -> Iterator[QueueEngine]:
    with queue_engine(request, request.param) as engine:
        yield engine


def task(name: str, version: int = 0, lane: Lane = Lane.NORMAL) -> Task:
    return make_task(
        document_id=DocumentId(name),
        key={"id": {"S": name}},
        version=NOW_MS + version,
        lane=lane,
    )


def tasks_of(messages: list[Message]) -> list[Task]:
    return [parse_task(message.body) for message in messages]


def use_up_receives(engine: QueueEngine, lane: Lane) -> Message:
    """Receive the first message, and let it come back, as often as it may; return it."""
    for _ in range(MAX_RECEIVES):
        [message] = engine.receive(lane, most=1)
        engine.tasks.hide([(message, 0)])
    return message


def test_versions_of_a_document_come_in_order(engine: QueueEngine) -> None:
    """R04 R31: one group per document."""
    versions = [task("a", number) for number in range(5)]

    assert engine.tasks.send(versions) == []

    assert tasks_of(engine.receive(Lane.NORMAL)) == versions


def test_document_in_flight_blocks_its_own_group_only(engine: QueueEngine) -> None:
    """R04 R31: a newer version waits for the older one's run; another document does not."""
    engine.tasks.send([task("a", 1), task("a", 2)])
    [first] = engine.receive(Lane.NORMAL, most=1)
    engine.tasks.send([task("b")])

    assert tasks_of(engine.receive(Lane.NORMAL)) == [task("b")]
    engine.acknowledge(first)
    assert tasks_of(engine.receive(Lane.NORMAL)) == [task("a", 2)]


def test_task_sent_twice_is_delivered_once(engine: QueueEngine) -> None:
    """R04 R31: the stream's redelivery sends the same task again."""
    engine.tasks.send([task("a")])
    assert engine.tasks.send([task("a")]) == []

    assert tasks_of(engine.receive(Lane.NORMAL)) == [task("a")]


def test_task_sent_again_after_its_end_is_swallowed(engine: QueueEngine) -> None:
    """R29 R31: so whoever wants work done again takes a new version."""
    engine.tasks.send([task("a")])
    [message] = engine.receive(Lane.NORMAL)
    engine.acknowledge(message)

    assert engine.tasks.send([task("a")]) == []
    assert engine.receive(Lane.NORMAL) == []
    assert engine.tasks.send([task("a", 1)]) == []
    assert tasks_of(engine.receive(Lane.NORMAL)) == [task("a", 1)]


def test_one_version_of_two_documents_is_two_tasks(engine: QueueEngine) -> None:
    """R04: deduplication knows the document."""
    engine.tasks.send([task("a"), task("b")])

    assert {t.document_id for t in tasks_of(engine.receive(Lane.NORMAL))} == {"a", "b"}


def test_message_given_back_keeps_its_place(engine: QueueEngine) -> None:
    """R20 R31: a failed attempt is not overtaken by a newer version."""
    engine.tasks.send([task("a", 1), task("a", 2)])
    [first] = engine.receive(Lane.NORMAL, most=1)

    engine.tasks.hide([(first, 0)])

    again = engine.receive(Lane.NORMAL)
    assert tasks_of(again) == [task("a", 1), task("a", 2)]
    assert (again[0].message_id, again[0].receive_count) == (first.message_id, 2)


@pytest.mark.parametrize("lane", LANES)
def test_hidden_message_comes_back_after_its_time(engine: QueueEngine, lane: Lane) -> None:
    """R20: backoff by visibility."""
    engine.tasks.send([task("a", lane=lane)])
    [message] = engine.receive(lane)

    engine.tasks.hide([(message, 1)])

    assert engine.receive(lane) == []
    [again] = engine.receive_after(lane, seconds=1)
    assert (again.message_id, again.receive_count) == (message.message_id, 2)
    assert again.sent_ms == message.sent_ms


@pytest.mark.parametrize("lane", LANES)
def test_hide_returns_messages_whose_visibility_was_not_changed(
    any_engine: QueueEngine, lane: Lane
) -> None:
    """R20 R63: so that the log has each message that comes back at another time."""
    any_engine.tasks.send([task("a", lane=lane), task("b", lane=lane)])
    [first, second] = any_engine.receive(lane)
    unknown = replace(second, receipt_handle="never given out")
    elsewhere = replace(second, queue="not one of ours")

    unchanged = any_engine.tasks.hide([(first, 30), (unknown, 30), (elsewhere, 30)])

    assert sorted(unchanged, key=lambda message: message.queue) == sorted(
        [unknown, elsewhere], key=lambda message: message.queue
    )
    assert any_engine.tasks.hide([(second, 30)]) == []


@pytest.mark.parametrize("lane", LANES)
def test_message_received_too_often_becomes_a_dead_letter(engine: QueueEngine, lane: Lane) -> None:
    """R20: SQS's own redrive policy moves it, at the receive after the last one."""
    engine.tasks.send([task("a", lane=lane)])
    use_up_receives(engine, lane)
    assert engine.dead_letters(lane) == []

    assert engine.receive(lane) == []

    assert [parse_task(body) for body in engine.dead_letters(lane)] == [task("a", lane=lane)]


def test_dead_letter_lets_its_group_go_on(engine: QueueEngine) -> None:
    """R10: a poison version does not hold the next one of its document for ever."""
    engine.tasks.send([task("a", 1), task("a", 2)])
    use_up_receives(engine, Lane.NORMAL)

    received = engine.receive(Lane.NORMAL) or engine.receive(Lane.NORMAL)

    assert tasks_of(received) == [task("a", 2)]
    assert [parse_task(body) for body in engine.dead_letters(Lane.NORMAL)] == [task("a", 1)]


def test_redriven_task_starts_anew(engine: QueueEngine) -> None:
    """R20: sent later than its failure, and received for the first time.

    On the standard lane only, and without its new id: ElasticMQ's move task does neither as
    AWS documents it, and one-machine mode moves FIFO messages itself.
    """
    engine.tasks.send([task("a", lane=Lane.BULK)])
    last = use_up_receives(engine, Lane.BULK)
    assert engine.receive(Lane.BULK) == []

    engine.redrive(Lane.BULK)

    [redriven] = engine.receive_after(Lane.BULK, seconds=1)
    assert redriven.body == last.body
    assert redriven.receive_count == 1
    assert redriven.sent_ms > last.sent_ms
    assert engine.dead_letters(Lane.BULK) == []


@pytest.mark.parametrize("lane", LANES)
def test_redriven_task_has_a_new_id(lane: Lane) -> None:
    """R20: as AWS documents it; in memory only, as no engine here does it for both lanes."""
    engine = MemoryEngine()
    engine.tasks.send([task("a", lane=lane)])
    last = use_up_receives(engine, lane)
    assert engine.receive(lane) == []

    engine.redrive(lane)

    [redriven] = engine.receive(lane)
    assert redriven.message_id != last.message_id
    assert (redriven.body, redriven.receive_count) == (last.body, 1)


def test_stale_receipt_neither_hides_nor_deletes(engine: QueueEngine) -> None:
    """R31: a run that outlived its visibility has no power over the next delivery."""
    engine.tasks.send([task("a")])
    [first] = engine.receive(Lane.NORMAL)
    engine.tasks.hide([(first, 0)])
    [second] = engine.receive(Lane.NORMAL)

    engine.tasks.hide([(first, 0)])
    engine.acknowledge(first)

    assert engine.receive(Lane.NORMAL) == []
    engine.tasks.hide([(second, 0)])
    assert tasks_of(engine.receive(Lane.NORMAL)) == [task("a")]


@pytest.mark.parametrize("lane", [Lane.NORMAL, Lane.BULK])
def test_message_is_acknowledged_at_once(engine: QueueEngine, lane: Lane) -> None:
    """R35: a crash later in the run does not bring it back; a stale receipt is no error."""
    engine.tasks.send([task("a", lane=lane)])
    [first] = engine.receive(lane)
    engine.tasks.hide([(first, 0)])
    [second] = engine.receive(lane)

    engine.tasks.acknowledge(first)
    assert engine.tasks.hide([(second, 1)]) == []
    engine.tasks.acknowledge(second)

    assert engine.receive_after(lane, 2) == []


def test_standard_lane_neither_blocks_nor_deduplicates(engine: QueueEngine) -> None:
    """R32: bulk and delete lanes have no groups."""
    twice = [task("a", lane=Lane.BULK)] * 2
    engine.tasks.send(twice)

    one_by_one = [*engine.receive(Lane.BULK, most=1), *engine.receive(Lane.BULK, most=1)]

    assert tasks_of(one_by_one) == twice


@pytest.mark.parametrize("name", ["acme", "!~" * 64, tenant_group("größer")])
def test_tenant_of_a_standard_lane_neither_blocks_nor_orders(
    any_engine: QueueEngine, name: str
) -> None:
    """R19: the message group of a fair queue is taken, and tasks of one tenant run side by side."""
    mine = [replace(task(document, lane=Lane.BULK), tenant=name) for document in ("a", "b")]

    assert any_engine.tasks.send(mine) == []

    one_by_one = [*any_engine.receive(Lane.BULK, most=1), *any_engine.receive(Lane.BULK, most=1)]
    found = tasks_of(one_by_one)
    assert {one.document_id for one in found} == {"a", "b"}
    assert {one.tenant for one in found} == {name}


AWKWARD = {
    "control characters": "".join(map(chr, range(32))) + "\x7f",
    "not allowed in a message": "\ufffe\uffff\x00",
    "emoji": "👩‍👩‍👧 naïve ☃",
    "looks like JSON": '{"a": "\\u0000"}',
    "right to left": "\u202eabc\u2066",
    "2,048 bytes": "\x01" * 2048,
}


@pytest.mark.parametrize("name", AWKWARD.values(), ids=AWKWARD.keys())
@pytest.mark.parametrize("lane", LANES)
def test_document_id_may_have_any_character(any_engine: QueueEngine, lane: Lane, name: str) -> None:
    """R02: SQS refuses some characters in bodies, groups and deduplication ids."""
    assert any_engine.tasks.send([task(name, lane=lane)]) == []

    assert tasks_of(any_engine.receive(lane)) == [task(name, lane=lane)]


def test_ten_large_tasks_fit_into_one_send(any_engine: QueueEngine) -> None:
    """R02: the longest key of two attributes, at its longest in JSON, ten times over."""
    large = [
        make_task(
            document_id=DocumentId(f"{number}{'%7C' * 2040}|{'%7C' * 1020}"),
            key={"pk": {"S": f"{number}{'|' * 2040}"}, "sk": {"S": "\x01" * 1024}},
            lane=Lane.BULK,
        )
        for number in range(10)
    ]

    assert any_engine.tasks.send(large) == []
    assert len(any_engine.receive(Lane.BULK)) == 10


def test_more_tasks_than_one_call_takes(any_engine: QueueEngine) -> None:
    """R04: ten is the limit of one call, not of a batch; both kinds of lanes in one list."""
    tasks = [task(f"d{number}", lane=LANES[number % 2]) for number in range(25)]

    assert any_engine.tasks.send(tasks) == []

    for lane in LANES:
        found: set[str] = set()
        while messages := any_engine.receive(lane):
            found |= {one.document_id for one in tasks_of(messages)}
        assert found == {one.document_id for one in tasks if one.lane is lane}


def test_many_messages_are_hidden_at_once(any_engine: QueueEngine) -> None:
    """R20: more than ten, of two lanes, each for its own time."""
    any_engine.tasks.send([task(f"d{number}", lane=LANES[number % 2]) for number in range(24)])
    taken = [m for lane in LANES for _ in range(2) for m in any_engine.receive(lane)]
    assert len(taken) == 24

    any_engine.tasks.hide([(message, 0) for message in taken])

    again = [m for lane in LANES for _ in range(2) for m in any_engine.receive(lane)]
    assert {m.message_id for m in again} == {m.message_id for m in taken}
    assert {m.receive_count for m in again} == {2}


def test_nothing_sent_is_nothing_done(any_engine: QueueEngine) -> None:
    """R10: a batch without work of its own."""
    assert any_engine.tasks.send([]) == []
    any_engine.tasks.hide([])


def test_waiting_messages_are_counted_by_queue(any_engine: QueueEngine) -> None:
    """R29 R30: what is in work or in backoff does not wait for anybody."""
    tasks = [task(f"d{number}") for number in range(3)] + [task("bulk", lane=Lane.BULK)]
    any_engine.tasks.send(tasks)
    assert any_engine.tasks.waiting(TARGET) == {"normal": 3, "bulk": 1}

    [taken] = any_engine.receive(Lane.NORMAL, most=1)
    [hidden] = any_engine.receive(Lane.BULK)
    any_engine.tasks.hide([(hidden, 60)])
    assert any_engine.tasks.waiting(TARGET) == {"normal": 2, "bulk": 0}

    any_engine.acknowledge(taken)
    any_engine.tasks.hide([(hidden, 0)])
    assert any_engine.tasks.waiting(TARGET) == {"normal": 2, "bulk": 1}
    assert any_engine.tasks.waiting("another") == {}


def test_queue_of_former_settings_is_not_there(any_engine: QueueEngine) -> None:
    """R13 R29: a task for it is not accepted, and who asks first knows."""
    former = task("a", lane=Lane.SEQUENTIAL)

    assert former.queue == FORMER
    assert any_engine.tasks.has_queue(TARGET, "normal")
    assert not any_engine.tasks.has_queue(TARGET, FORMER)
    assert any_engine.tasks.send([former, task("b")]) == [former]
