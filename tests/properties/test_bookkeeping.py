"""What the ledger knows: every stage of every task, and each row that is still owed one."""

import re
from collections.abc import Sequence

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from functions.core.failure import FailureKind
from functions.core.identity import DocumentId
from functions.core.ledger_row import LedgerRow, Status
from functions.core.task import Task, parse_task
from local.memory.ledger import MemoryLedger
from local.memory.queues import MemoryQueues
from local.recovery import send_open_again
from tests.builders import NOW_MS, make_row
from tests.properties.articles import CHARGED, WRITES, Articles, Write, thorough

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
            return row.progress.last_attempt_ms
        case "C":
            return row.outcome.completed_ms
        case "F":
            return row.outcome.failed_ms
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
    articles = Articles(failures)

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
        version = (row.task.document_id, row.task.version)
        lives[version] = lives.get(version, "") + LETTERS[row.status]
    assert [life for life in lives.values() if not LIFE.fullmatch(life)] == []
    last = [lives[name, row.task.version] for name, row in articles.rows().items()]
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
    states=st.lists(ROWS, max_size=8),
    copies=st.integers(1, 30),
    refused=st.sets(st.integers(0, 20).map(str)),
)
# Hundreds of rows are not made smaller one by one when it fails.
@settings(thorough, phases=[Phase.explicit, Phase.reuse, Phase.generate])
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
    wanted = {row.task.document_id for row in ledger.rows.values() if row.status.is_open}

    sent_and_found = send_open_again(ledger, queues)

    messages = [one for name in queues.names for one in queues.receive(name, len(wanted) + 1)]
    tasks = [parse_task(message.body) for message in messages]
    assert sorted(task.document_id for task in tasks) == sorted(wanted - refused)
    assert all(ledger.rows[task.row_key].task.version == task.version for task in tasks)
    assert sent_and_found == (len(wanted - refused), len(wanted))
