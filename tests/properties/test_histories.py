"""Random histories on the in-memory engines: the index ends equal to the table, always."""

import random
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from functions.core.entry import Entry
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ledger_row import Status
from functions.sweep.process import SweepError
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_source, make_target
from tests.properties.watched import Killed, Watched

DOCUMENTS = ("a", "b")
TEXTS = ("alpha", "beta", "gamma", "")
MAX_KILLS = 4  # fewer than the attempts that a document has
MAX_DEPTH = 3  # runs inside runs
PASSING = [kind for kind in FailureKind if not kind.is_permanent]
CLOSED = {Status.COMPLETED, Status.DELETED, Status.SKIPPED}


class History:
    """Takes random steps with the pipeline, some of them in the middle of others."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._is_disturbed = True
        self._kills = 0
        self._depth = 0
        self.pipeline = MemoryPipeline(
            [make_source(priority_attribute="priority")],
            [make_target()],
            around=lambda box, calls: Watched(box, calls, self._happen),
        )
        self._table = self.pipeline.tables["articles"]

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._step()

    def finish(self) -> None:
        """Let everything come to its end, undisturbed."""
        self._is_disturbed = False
        self.pipeline.drain()

    def _step(self) -> None:
        often = [self._write, self._write, self._deliver, self._embed, self._embed]
        rare = [self._redeliver, self._lose, self._wait, self._send_again]
        rare += [self._sweep, self._sweep, self.pipeline.reconcile]
        with suppress(Killed, FailureError, SweepError):
            self._random.choice(often * 2 + rare)()

    def _happen(self) -> None:
        """Let another writer, another run or a kill come between two calls of a run."""
        if not self._is_disturbed:
            return
        chance = self._random.random()
        if chance < 0.06 and self._kills < MAX_KILLS:
            self._kills += 1
            raise Killed
        if chance < 0.10:
            raise FailureError(Failure(self._random.choice(PASSING), "for a moment"))
        if chance > 0.85 and self._depth < MAX_DEPTH:
            self._depth += 1
            self.run(self._random.randint(1, 6))
            self._depth -= 1

    def _write(self) -> None:
        name = self._random.choice(DOCUMENTS)
        if self._random.random() < 0.25:
            self._table.delete({"id": name})
        else:
            self._table.put(
                {
                    "id": name,
                    "body": self._random.choice(TEXTS),
                    "priority": self._random.choice(["high", "normal", "bulk"]),
                }
            )
        # Several writes within one millisecond are several versions all the same.
        if self._random.random() < 0.5:
            self.pipeline.clock.advance(0.001)

    def _deliver(self) -> None:
        self.pipeline.deliver_new()

    def _redeliver(self) -> None:
        """Bring old stream records again, out of order."""
        stream = self._table.stream[: self.pipeline.read["articles"]]
        if stream:
            self.pipeline.deliver(self._random.choices(stream, k=self._random.randint(1, 5)))

    def _embed(self) -> None:
        if self.pipeline.queues.names:
            queue = self._random.choice(self.pipeline.queues.names)
            self.pipeline.run(queue, self._random.randint(1, 10))

    def _lose(self) -> None:
        """Run embed to its end, but lose the acknowledgement."""
        if self.pipeline.queues.names:
            queue = self._random.choice(self.pipeline.queues.names)
            messages = self.pipeline.queues.receive(queue, 10)
            if messages:
                left = self.pipeline.seconds_left()
                self.pipeline.embed["default"].process(messages, left)

    def _send_again(self) -> None:
        """Deliver a copy of a task, as a standard queue may, or as a redrive does."""
        rows = list(self.pipeline.ledger.rows.values())
        if rows:
            task = self._random.choice(rows).task
            self.pipeline.queues.put(
                "default/bulk", task.to_json(), group=None, deduplication_id=None
            )

    def _sweep(self) -> None:
        self.pipeline.sweep(self._random.choice(["due", "maintenance"]))

    def _wait(self) -> None:
        self.pipeline.clock.advance(self._random.choice([1, 60, 400, 1000]))


@given(seed=st.integers(min_value=0, max_value=2**32))
@settings(max_examples=1000, deadline=None)
def test_index_equals_table_after_any_history(seed: int) -> None:
    """R04 R05 R07 R31: put, edit, delete, resend, reorder, failures, crashes, slow runs and
    sweeps at any time lose nothing."""
    history = History(seed)

    history.run(20)
    history.finish()

    pipeline = history.pipeline
    expected = {
        item["id"]["S"]: item["body"]["S"]
        for item in pipeline.tables["articles"].items.values()
        if item["body"]["S"]
    }
    found = {
        entry.document_id: "".join(chunk.text for chunk in entry.chunks)
        for entry in pipeline.indexes["default"].entries.values()
        if isinstance(entry, Entry)
    }
    assert found == expected
    assert {row.status for row in pipeline.ledger.rows.values()} <= CLOSED
    assert pipeline.queues.dead_letters() == []
