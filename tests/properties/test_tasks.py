"""The life of a task: it outlives a restart, waits for its turn, and is tried again."""

from contextlib import suppress
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.histories.interrupts import Interrupted, Killed
from functions.core.failure import FailureKind
from functions.core.ledger_row import Status
from functions.core.settings import Ordering
from functions.core.task import parse_task
from tests.properties.articles import (
    CHARGED,
    WRITES,
    Articles,
    Write,
    is_closed,
    thorough,
)

SEQUENTIAL = "default/sequential-articles"


def restarted(before: Articles) -> Articles:
    """Start everything anew on what outlives a process: table, stream, lanes, ledger, index."""
    after = Articles(ledger=before.ledger, indexes=before.pipeline.indexes)
    old, new = before.pipeline, after.pipeline
    new.clock.now_ms = old.clock.now_ms
    new.read = old.read
    for held, empty in ((old.queues, new.queues), (old.tables["articles"], new.tables["articles"])):
        vars(empty).update({**vars(held), "_clock": new.clock})
    after.written = before.written
    return after


@given(writes=WRITES, more=WRITES, in_embed=st.booleans(), calls=st.integers(1, 14))
@thorough
def test_task_persistence_across_restarts(
    writes: list[Write], more: list[Write], in_embed: bool, calls: int
) -> None:
    """R80 property 4: a run killed at any point leaves its tasks where the next one finds them."""
    left = [0]

    def kill() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    articles = Articles(around=lambda box, names: Interrupted(box, names, kill))
    for write in writes:
        articles.write(write)
    if in_embed:
        articles.pipeline.deliver_new()
    left[0] = calls
    with suppress(Killed):
        articles.pipeline.deliver_new()
        articles.work()

    owed = [row for row in articles.ledger.rows.values() if not is_closed(row)]
    articles = restarted(articles)
    # Half an hour, and no sweep: each comes by its own message, or by the stream.
    for _ in range(10):
        articles.pipeline.deliver_new()
        articles.work()
        articles.pipeline.clock.advance(180)

    assert all(is_closed(articles.ledger.rows[row.row_key]) for row in owed)
    assert articles.searchable() == articles.wanted()
    for write in more:
        articles.write(write)
    articles.finish()
    assert articles.searchable() == articles.wanted()


@given(
    count=st.integers(1, 6),
    failures=st.lists(st.none() | CHARGED, max_size=3),
    most=st.integers(1, 10),
)
@thorough
def test_sequential_task_processing(
    count: int, failures: list[FailureKind | None], most: int
) -> None:
    """R80 property 5: one at a time, and the next only when the one before has come to its end."""
    articles = Articles(failures, source={"ordering": Ordering.SEQUENTIAL})
    names = [f"article {number}" for number in range(count)]
    tried: list[str] = []

    def meanwhile() -> None:
        # Whatever another worker asks for now, it gets nothing.
        assert articles.pipeline.run(SEQUENTIAL, most) == 0
        [running] = [row for row in articles.rows().values() if row.status is Status.PROCESSING]
        tried.append(running.task.document_id)

    articles.provider.meanwhile = meanwhile
    for name in names:
        articles.write(Write(name, f"about {name}"))
        articles.pipeline.deliver_new()
    while articles.pipeline.queues.depth(SEQUENTIAL):
        if not articles.pipeline.run(SEQUENTIAL, 1):
            articles.pipeline.clock.advance(0.5)

    assert [one for one, other in pairwise([*tried, ""]) if one != other] == names
    assert all(is_closed(row) for row in articles.rows().values())


@given(count=st.integers(1, 25))
@thorough
def test_sequential_tasks_keep_the_order_of_their_writes(count: int) -> None:
    """R33: also those that one batch of the stream brings, in whatever order rows are stored."""
    articles = Articles(source={"ordering": Ordering.SEQUENTIAL})
    names = [f"article {number}" for number in range(count)]
    for name in names:
        articles.write(Write(name, f"about {name}"))
    articles.pipeline.deliver_new()

    messages = articles.pipeline.queues.receive(SEQUENTIAL, count)

    assert [parse_task(message.body).document_id for message in messages] == names


@given(kind=CHARGED, failures=st.integers(0, 8), tick_ms=st.sampled_from((100, 250, 500)))
@thorough
def test_retry_with_exponential_backoff(kind: FailureKind, failures: int, tick_ms: int) -> None:
    """R80 property 6: up to three retries, after 1, 2 and 4 seconds."""
    articles = Articles([kind] * failures)
    tried_ms: list[int] = []
    articles.provider.meanwhile = lambda: tried_ms.append(articles.pipeline.clock())
    articles.write(Write("a", "alpha"))
    articles.pipeline.deliver_new()

    while articles.pipeline.queues.depth("default/normal"):
        if not articles.work():
            articles.pipeline.clock.advance(tick_ms / 1000)

    tries = min(failures + 1, 4)
    waited_ms = [later - sooner for sooner, later in pairwise(tried_ms)]
    assert waited_ms == [1000, 2000, 4000][: tries - 1]
    row = articles.rows()["a"]
    gives_up = failures > 3
    assert row.progress.attempts == tries
    assert row.status is (Status.FAILED_MAX_RETRIES if gives_up else Status.COMPLETED)
    assert len(articles.pipeline.queues.dead_letters()) == gives_up
    assert [error.kind for error in row.errors] == [kind] * min(failures, 4)
