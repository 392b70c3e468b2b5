"""The life of a task: it outlives a restart, has its turn, its retries, its status and its kin."""

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from functions.core.failure import FailureKind
from functions.core.identity import DocumentId
from functions.core.ledger_row import LedgerRow, Status
from functions.core.settings import Ordering
from functions.core.task import Task, parse_task
from local.memory.ledger import MemoryLedger
from local.memory.queues import MemoryQueues
from local.recovery import send_open_again
from tests.builders import NOW_MS, make_row
from tests.properties.articles import (
    CHARGED,
    WRITES,
    Articles,
    Killed,
    Provider,
    Watched,
    Write,
    is_closed,
    thorough,
)

HOUR_MS = 3_600_000
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


@given(writes=WRITES, more=WRITES, calls=st.integers(1, 30))
@thorough
def test_task_persistence_across_restarts(
    writes: list[Write], more: list[Write], calls: int
) -> None:
    """R80 property 4: a run killed at any point leaves its tasks where the next one finds them."""
    left = [calls]

    def die() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    articles = Articles(around=lambda box, names: Watched(box, names, die))
    for write in writes:
        articles.write(write)
    with suppress(Killed):
        articles.pipeline.deliver_new()
        articles.work()

    owed = [row for row in articles.ledger.rows.values() if not is_closed(row)]
    articles = restarted(articles)
    begun_ms = articles.pipeline.clock()
    for write in more:
        articles.write(write)
    articles.finish()

    assert articles.searchable() == articles.wanted()
    assert all(is_closed(articles.ledger.rows[row.row_key]) for row in owed)
    # By its own message, long before the sweep looks for what was lost.
    assert articles.pipeline.clock() - begun_ms < HOUR_MS


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
    articles = Articles(Provider(failures), source={"ordering": Ordering.SEQUENTIAL})
    names = [f"article {number}" for number in range(count)]
    tried: list[str] = []

    def meanwhile() -> None:
        # Whatever another worker asks for now, it gets nothing.
        assert articles.pipeline.run(SEQUENTIAL, most) == 0
        [running] = [row for row in articles.rows().values() if row.status is Status.PROCESSING]
        tried.append(running.document_id)

    articles.provider.meanwhile = meanwhile
    for name in names:
        articles.write(Write(name, f"about {name}"))
        articles.pipeline.deliver_new()
    while articles.pipeline.queues.depth(SEQUENTIAL):
        if not articles.pipeline.run(SEQUENTIAL, 1):
            articles.pipeline.clock.advance(0.5)

    assert [one for one, other in pairwise([*tried, ""]) if one != other] == names
    assert all(is_closed(row) for row in articles.rows().values())


@given(kind=CHARGED, failures=st.integers(0, 8), tick_ms=st.sampled_from((100, 250, 500)))
@thorough
def test_retry_with_exponential_backoff(kind: FailureKind, failures: int, tick_ms: int) -> None:
    """R80 property 6: up to three retries, after 1, 2 and 4 seconds."""
    articles = Articles(Provider([kind] * failures))
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
    assert row.attempts == tries
    assert row.status is (Status.FAILED_MAX_RETRIES if gives_up else Status.COMPLETED)
    assert len(articles.pipeline.queues.dead_letters()) == gives_up
    assert [error.kind for error in row.errors] == [kind] * min(failures, 4)


LETTERS = {
    Status.PENDING: "p",
    Status.PROCESSING: "r",
    Status.FAILED: "F",
    Status.FAILED_MAX_RETRIES: "F",
    Status.COMPLETED: "C",
    Status.PARTIALLY_COMPLETED: "C",
    Status.DELETED: "C",
    Status.SKIPPED: "C",
}
# Pending, then in turns processing and pending again, then one end. A newer version may cut
# it off anywhere.
LIFE = re.compile(r"p+(r+p+)*(r+[CF]?)?")


def moment_ms(row: LedgerRow) -> int | None:
    """Return when the stage that a row is in was reached."""
    match LETTERS[row.status]:
        case "r":
            return row.last_attempt_ms
        case "C":
            return row.completed_ms
        case "F":
            return row.failed_ms
    return row.queued_ms


@given(
    parts=st.lists(WRITES, min_size=1, max_size=3),
    failures=st.lists(st.none() | CHARGED | st.just(FailureKind.INVALID_INPUT), max_size=8),
)
@thorough
def test_status_tracking_throughout_lifecycle(
    parts: list[list[Write]], failures: list[FailureKind | None]
) -> None:
    """R80 property 7: every stage of every task is in the ledger when it is reached."""
    articles = Articles(Provider(failures))

    def meanwhile() -> None:
        assert Status.PROCESSING in {row.status for row in articles.rows().values()}

    def stored(row: LedgerRow) -> None:
        assert row == articles.ledger.rows[row.row_key]
        assert moment_ms(row) is not None

    articles.provider.meanwhile = meanwhile
    articles.ledger.watch = stored
    for part in parts:
        for write in part:
            articles.write(write)
        articles.pipeline.deliver_new()
        articles.work()
    articles.pipeline.drain()

    lives: dict[tuple[str, int], str] = {}
    for row in articles.ledger.history:
        version = (row.document_id, row.version)
        lives[version] = lives.get(version, "") + LETTERS[row.status]
    assert [life for life in lives.values() if not LIFE.fullmatch(life)] == []
    last = [lives[name, row.version] for name, row in articles.rows().items()]
    assert [life for life in last if not life.endswith(("C", "F"))] == []


OPEN = st.sampled_from((Status.PENDING, Status.PROCESSING))
ROWS = st.tuples(OPEN | st.sampled_from(Status), st.booleans(), st.booleans())


class Refusing(MemoryQueues):
    """Lanes that do not accept some tasks."""

    def __init__(self, refused: set[str]) -> None:
        super().__init__(lambda: NOW_MS)
        self._refused = refused

    def send(self, tasks: Sequence[Task]) -> list[Task]:
        unsent = [task for task in tasks if task.document_id in self._refused]
        super().send([task for task in tasks if task not in unsent])
        return unsent


@given(
    states=st.lists(ROWS, max_size=10),
    copies=st.integers(1, 50),
    refused=st.sets(st.integers(0, 20).map(str)),
)
@thorough
def test_bulk_operation_completeness(
    states: list[tuple[Status, bool, bool]], copies: int, refused: set[str]
) -> None:
    """R80 property 8: of any number of rows, each that is owed gets its task, and no other."""
    ledger, queues = MemoryLedger(), Refusing(refused)
    ledger.write(
        [
            make_row(
                document_id=DocumentId(str(number)),
                key={"id": {"S": str(number)}},
                revision=0,
                status=status,
                parked=parked,
                sent=sent,
            )
            for number, (status, parked, sent) in enumerate(states * copies)
        ]
    )
    wanted = {row.document_id for row in ledger.rows.values() if row.status.is_open}

    sent_and_found = send_open_again(ledger, queues)

    messages = [one for name in queues.names for one in queues.receive(name, len(wanted) + 1)]
    tasks = [parse_task(message.body) for message in messages]
    assert sorted(task.document_id for task in tasks) == sorted(wanted - refused)
    assert all(ledger.rows[task.row_key].version == task.version for task in tasks)
    assert sent_and_found == (len(wanted - refused), len(wanted))
