"""What the application sees: its write is stored first, answers at once, and stays its own."""

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.histories.interrupts import Interrupted, Killed
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ledger_row import Status
from functions.core.task import Task
from local.memory.index import MemoryIndex
from tests.fake_embedder import FakeEmbedder
from tests.properties.articles import WRITES, Articles, Write, is_closed, thorough


class WatchedSend:
    """The lanes, with a look at each task before it is sent."""

    def __init__(self, box: Any, look: Callable[[Task], None]) -> None:
        self._box = box
        self._look = look

    def __getattr__(self, name: str) -> Any:
        return getattr(self._box, name)

    def send(self, tasks: Sequence[Task]) -> Any:
        for task in tasks:
            self._look(task)
        return self._box.send(tasks)


@given(batches=st.lists(st.tuples(WRITES, st.booleans()), min_size=1, max_size=4))
@thorough
def test_article_persistence_precedes_task_queuing(batches: list[tuple[list[Write], bool]]) -> None:
    """R80 property 1: the article, then its row, are stored before its task is in a lane."""
    queued: dict[str, int] = {}
    kills = [False]

    def look(task: Task) -> None:
        row = articles.ledger.rows[task.row_key]
        assert (row.task.version, row.status) == (task.version, Status.PENDING)
        assert articles.stored() == articles.written
        if kills[-1]:
            raise Killed
        queued[task.document_id] = task.version

    articles = Articles(
        around=lambda box, calls: WatchedSend(box, look) if "send" in calls else box
    )
    for writes, is_killed in batches:
        for write in writes:
            articles.write(write)
        kills.append(is_killed)
        try:
            articles.pipeline.deliver_new()
        except Killed:
            # Nothing is in a lane that was not stored; the stream brings the rest again.
            assert queued.keys() <= articles.rows().keys()
    kills.append(False)
    articles.pipeline.deliver_new()

    assert queued == {name: row.task.version for name, row in articles.rows().items()}


@given(before=WRITES, during=WRITES)
@thorough
def test_immediate_response_without_embedding_wait(
    before: list[Write], during: list[Write]
) -> None:
    """R80 property 2: a write never waits for the provider, however slow, nor for a run."""
    articles = Articles()
    pending = list(during)

    def answer_at_once(write: Write) -> None:
        asked, begun_ms = len(articles.provider.requests), articles.pipeline.clock()
        changes = articles.written.get(write.name) != write.text
        articles.write(write)
        articles.pipeline.deliver_new()

        assert articles.pipeline.clock() - begun_ms <= 1
        assert len(articles.provider.requests) == asked
        assert articles.stored() == articles.written
        if changes:
            assert articles.rows()[write.name].status is Status.PENDING

    def slowly() -> None:
        if pending:
            answer_at_once(pending.pop(0))
        articles.pipeline.clock.advance(20)

    for write in before:
        answer_at_once(write)
    assert articles.provider.requests == []
    articles.provider.meanwhile = slowly
    articles.work()
    for write in pending:
        answer_at_once(write)
    articles.finish()

    assert articles.searchable() == articles.wanted()


@given(
    kind=st.sampled_from(FailureKind),
    place=st.sampled_from((FakeEmbedder, MemoryIndex)),
    writes=WRITES,
    edits=WRITES,
)
@thorough
def test_embedding_failure_isolation(
    kind: FailureKind, place: type, writes: list[Write], edits: list[Write]
) -> None:
    """R80 property 3: whatever fails, articles stay as written, and can be written again."""
    kinds: list[FailureKind] = []

    def fail() -> None:
        for kind in kinds:
            raise FailureError(Failure(kind, "as asked"))

    articles = Articles(
        around=lambda box, calls: Interrupted(box, calls, fail) if isinstance(box, place) else box
    )
    for write in writes:
        articles.write(write)
    kinds.append(kind)
    for edit in edits:
        articles.pipeline.deliver_new()
        articles.work()
        assert articles.stored() == articles.written
        articles.write(edit)
        assert articles.stored() == articles.written
    kinds.clear()
    for name in articles.written:
        articles.write(Write(name, "mended"))
    articles.finish()

    assert articles.stored() == articles.written == dict.fromkeys(articles.written, "mended")
    assert articles.searchable() == articles.wanted()
    assert all(is_closed(articles.rows()[name]) for name in articles.written)
    assert not any(row.status.is_open for row in articles.rows().values())
