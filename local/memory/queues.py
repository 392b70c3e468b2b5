"""SQS in memory: FIFO groups, deduplication, visibility, receive counts and redrive."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from functions.core.ports import Clock, Message
from functions.core.task import Task

# Given a share of all cases, returns True in that many: what SQS rarely does happens then.
Chance = Callable[[float], bool]

DEDUPLICATION_MS = 5 * 60 * 1000
DEAD_LETTERS = "dead-letters"


@dataclass
class _Held:
    """A message in a queue."""

    message_id: str
    body: str
    group: str | None
    sent_ms: int
    visible_ms: int
    receive_count: int = 0
    receipt: str = ""


@dataclass
class _Queue:
    name: str
    is_fifo: bool
    messages: list[_Held] = field(default_factory=list)
    seen_ms: dict[str, int] = field(default_factory=dict)  # deduplication id -> first send


class MemoryQueues:
    """The lanes of all targets, each with its dead letters."""

    def __init__(
        self,
        clock: Clock,
        *,
        visibility_seconds: int = 900,
        max_receive_count: int = 10,
        chance: Chance = lambda _: False,
    ) -> None:
        self._clock = clock
        self.chance = chance
        self._visibility_ms = visibility_seconds * 1000
        self._max_receive_count = max_receive_count
        self._queues: dict[str, _Queue] = {}
        self.gone: set[str] = set()  # removed queues; all others are made by their first message
        self._numbers = count(1)

    @property
    def names(self) -> list[str]:
        """Name the lanes that have been used."""
        return [name for name in self._queues if not name.endswith(DEAD_LETTERS)]

    def send(self, tasks: Sequence[Task]) -> list[Task]:
        """Send tasks to their lanes; return those that were not accepted."""
        refused = []
        for task in tasks:
            if not self.has_queue(task.target, task.queue) or self.chance(0.05):
                refused.append(task)
                continue
            self.put(
                f"{task.target}/{task.queue}",
                task.to_json(),
                group=task.group if task.lane.is_fifo else None,
                deduplication_id=task.deduplication_id if task.lane.is_fifo else None,
            )
        return refused

    def put(self, name: str, body: str, *, group: str | None, deduplication_id: str | None) -> None:
        """Send one message; a repeated deduplication id is ignored for five minutes."""
        queue = self._queues.setdefault(name, _Queue(name, is_fifo=group is not None))
        now_ms = self._clock()
        if deduplication_id is not None:
            first_ms = queue.seen_ms.get(deduplication_id)
            if first_ms is not None and now_ms - first_ms < DEDUPLICATION_MS:
                return
            queue.seen_ms[deduplication_id] = now_ms
        queue.messages.append(
            _Held(f"message-{next(self._numbers)}", body, group, now_ms, visible_ms=now_ms)
        )

    def receive(self, name: str, most: int) -> list[Message]:
        """Take messages; those received too often move to the dead letters."""
        queue = self._queues.get(name)
        taken: list[Message] = []
        blocked: set[str] = set()
        for held in list(queue.messages) if queue else []:
            if len(taken) == most:
                break
            if held.group is not None and held.group in blocked:
                continue
            if held.group is None and self.chance(0.1):
                continue  # a standard queue keeps no order
            if held.visible_ms > self._clock():
                # A message in flight blocks its group.
                blocked.add(held.group or "")
            elif queue and held.receive_count >= self._max_receive_count:
                self._move_to_dead_letters(queue, held)
            else:
                taken.append(self._take(name, held))
        return taken

    def acknowledge(self, message: Message) -> None:
        """Delete a message, if its receipt is still the last one."""
        queue = self._queues[message.queue]
        if not queue.is_fifo and self.chance(0.05):
            return  # a standard queue may deliver a message again after it was deleted
        queue.messages = [h for h in queue.messages if h.receipt != message.receipt_handle]

    def hide(self, messages: Sequence[tuple[Message, int]]) -> list[Message]:
        """Hide each message for its seconds; return messages whose visibility was not changed."""
        unchanged = []
        for message, seconds in messages:
            if self.chance(0.05):
                unchanged.append(message)
                continue
            queue = self._queues.get(message.queue)
            for held in queue.messages if queue else ():
                if held.receipt == message.receipt_handle:
                    held.visible_ms = self._clock() + seconds * 1000
                    break
            else:
                unchanged.append(message)
        return unchanged

    def waiting(self, target: str) -> dict[str, int]:
        """Count the messages of each lane of a target that can be received now."""
        return {
            name.removeprefix(f"{target}/"): sum(
                held.visible_ms <= self._clock() for held in self._queues[name].messages
            )
            for name in self.names
            if name.startswith(f"{target}/")
        }

    def has_queue(self, target: str, queue: str) -> bool:
        """Return True if the target has a queue of this name."""
        return f"{target}/{queue}" not in self.gone

    def purge(self, name: str) -> None:
        """Delete all messages of a queue."""
        self._queues[name].messages.clear()

    def depth(self, name: str) -> int:
        """Count the messages of a queue, hidden ones too."""
        queue = self._queues.get(name)
        return len(queue.messages) if queue else 0

    def measured(self, names: Sequence[str]) -> tuple[int, int | None]:
        """Return how many messages of queues can be received, and when the oldest was sent."""
        held = [
            one for name in names if name in self._queues for one in self._queues[name].messages
        ]
        waiting = sum(one.visible_ms <= self._clock() for one in held)
        return waiting, min((one.sent_ms for one in held), default=None)

    def visible_times(self) -> list[int]:
        """Return when each message of the lanes becomes visible."""
        return [held.visible_ms for name in self.names for held in self._queues[name].messages]

    def receive_counts(self) -> list[int]:
        """Return the receive count of each message of the lanes."""
        return [held.receive_count for name in self.names for held in self._queues[name].messages]

    def dead_letters(self) -> list[str]:
        """Return the bodies of all dead letters."""
        return [
            held.body
            for name, queue in self._queues.items()
            if name.endswith(DEAD_LETTERS)
            for held in queue.messages
        ]

    def redrive(self) -> int:
        """Move every dead letter back to its lane, with a new id and no receives."""
        moved = 0
        for name in [name for name in self._queues if name.endswith(DEAD_LETTERS)]:
            lane = name.removesuffix(f"/{DEAD_LETTERS}")
            for held in self._queues[name].messages:
                moved += 1
                now_ms = self._clock()
                self._queues[lane].messages.append(
                    _Held(f"message-{next(self._numbers)}", held.body, held.group, now_ms, now_ms)
                )
            self._queues[name].messages.clear()
        return moved

    def _take(self, name: str, held: _Held) -> Message:
        held.receive_count += 1
        held.visible_ms = self._clock() + self._visibility_ms
        held.receipt = f"{held.message_id}/{held.receive_count}"
        message = Message(
            held.message_id, held.receipt, held.body, name, held.receive_count, held.sent_ms
        )
        if held.group is None and self.chance(0.05):
            # A standard queue may deliver a message to two receivers, and count it once or twice.
            held.visible_ms = self._clock()
            held.receive_count -= self.chance(0.5)
        return message

    def _move_to_dead_letters(self, queue: _Queue, held: _Held) -> None:
        queue.messages.remove(held)
        name = f"{queue.name}/{DEAD_LETTERS}"
        dead = self._queues.setdefault(name, _Queue(name, queue.is_fifo))
        # A FIFO dead letter gets a new sent time; a standard one keeps its own.
        sent_ms = self._clock() if queue.is_fifo else held.sent_ms
        dead.messages.append(_Held(held.message_id, held.body, held.group, sent_ms, 0))
