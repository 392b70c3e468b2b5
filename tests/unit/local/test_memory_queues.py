"""What SQS does now and then, and the queues in memory do when the histories ask for it."""

from functions.core.lane import Lane
from functions.core.ports import Message
from local.memory.queues import MemoryQueues
from local.memory.runtime import MovableClock
from tests.builders import make_task


class Queues(MemoryQueues):
    """Queues whose chances are given one by one."""

    def __init__(self) -> None:
        self.time = MovableClock()
        self.chances: list[bool] = []
        super().__init__(self.time, chance=lambda _: self.chances.pop(0) if self.chances else False)

    def put_in(self, lane: Lane, *ids: str) -> None:
        self.send([make_task(document_id=name, lane=lane) for name in ids])

    def take(self, lane: Lane, *chances: bool) -> list[Message]:
        self.chances = list(chances)
        return self.receive(f"default/{lane}", 10)


def ids(messages: list[Message]) -> list[str]:
    return [message.message_id for message in messages]


def test_standard_lane_keeps_no_order() -> None:
    """R85: the first message is left out, the second one comes."""
    queues = Queues()
    queues.put_in(Lane.BULK, "a", "b")

    assert ids(queues.take(Lane.BULK, True, False, False)) == ["message-2"]
    assert ids(queues.take(Lane.BULK)) == ["message-1"]


def test_standard_lane_gives_a_message_to_two_receivers() -> None:
    """R85: counted twice, or once."""
    for is_counted_once, counts in ((False, [1, 2]), (True, [1, 1])):
        queues = Queues()
        queues.put_in(Lane.BULK, "a")

        received = queues.take(Lane.BULK, False, True, is_counted_once) + queues.take(Lane.BULK)

        assert ids(received) == ["message-1", "message-1"]
        assert [message.receive_count for message in received] == counts


def test_standard_lane_delivers_a_deleted_message_again() -> None:
    """R85: at least once."""
    queues = Queues()
    queues.put_in(Lane.BULK, "a")
    [message] = queues.take(Lane.BULK)

    queues.chances = [True]
    queues.acknowledge(message)
    queues.time.advance(3600)

    assert ids(queues.take(Lane.BULK)) == ["message-1"]


def test_fifo_lane_does_none_of_this() -> None:
    """R85: no chance is even asked for."""
    queues = Queues()
    queues.put_in(Lane.NORMAL, "a", "b")

    [first, second] = queues.take(Lane.NORMAL, True, True, True, True)
    queues.acknowledge(first)
    queues.acknowledge(second)
    queues.time.advance(3600)

    assert queues.chances == [True] * 4
    assert queues.take(Lane.NORMAL) == []


def test_message_that_could_not_be_hidden_comes_at_its_own_time() -> None:
    """R85: the caller gets to know it."""
    queues = Queues()
    queues.put_in(Lane.NORMAL, "a")
    [message] = queues.take(Lane.NORMAL)

    queues.chances = [True]
    assert queues.hide([(message, 0)]) == [message]

    assert queues.take(Lane.NORMAL) == []
    assert queues.hide([(message, 0)]) == []
    assert ids(queues.take(Lane.NORMAL)) == ["message-1"]


def test_task_that_is_refused_is_reported() -> None:
    """R85: and not in the queue."""
    queues = Queues()
    task = make_task()

    queues.chances = [True]
    assert queues.send([task]) == [task]
    assert queues.depth("default/normal") == 0
