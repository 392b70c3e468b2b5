"""Documents sent again from the command line, with what happens to each on stderr."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import Group, LedgerRow, Status
from functions.core.settings import Ordering
from ops.deployment import Deployment
from ops.output import UsageError, as_text
from ops.recovery import recover, requeue, retry
from tests.builders import make_row, make_source


def row(name: str, status: Status = Status.PENDING) -> LedgerRow:
    return make_row(revision=0, document_id=DocumentId(name), status=status)


def waiting(deployment: Deployment, lane: str) -> int:
    return deployment.depth(deployment.queues["default"][lane])[0]


def test_every_open_document_is_sent_again(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    """R31 R40: closed ones are not; each send is a line on stderr, with its id."""
    deployment.ledger.write([row("a"), row("b"), row("done", Status.COMPLETED)])

    answer = recover(deployment).act()

    assert as_text(answer) == "2 of 2 open documents sent again"
    assert waiting(deployment, "normal") == 2
    lines = capsys.readouterr().err.splitlines()
    assert sorted(line.split()[0] for line in lines) == ["task_requeued", "task_requeued"]
    assert not any("trace_id" in line for line in lines)
    assert {"document_id=a", "document_id=b"} <= {word for line in lines for word in line.split()}


def test_question_names_how_many_are_sent(
    deployment: Deployment,
) -> None:
    """R40: the question names how many; with nothing open there is no question."""
    assert recover(deployment).questions == ()
    deployment.ledger.write([row("a")])

    proposal = recover(deployment)

    assert (proposal.documents, proposal.questions) == (1, ("Send 1 open documents again?",))

    assert waiting(deployment, "normal") == 0


def test_one_document_is_sent_to_the_chosen_lane(deployment: Deployment) -> None:
    """R40 R41: whatever became of it; the answer says where to look."""
    deployment.ledger.write([row("a b", Status.FAILED)])

    answer = requeue(deployment, "a b", lane="high").act()

    assert as_text(answer) == ("default/articles/a b sent to lane high: see `embedq status 'a b'`")
    assert waiting(deployment, "high") == 1


def test_unknown_document_is_not_sent(deployment: Deployment) -> None:
    """R40: one sentence."""
    with pytest.raises(UsageError, match="the ledger has no row default/articles/a:"):
        requeue(deployment, "a")


def test_document_of_a_sequential_source_is_named_with_its_own_lane(
    deployment: Deployment,
) -> None:
    """R40: it has no other lane, whichever was asked for."""
    source = make_source(ordering=Ordering.SEQUENTIAL)
    outputs = {
        **deployment.outputs,
        "SourceArticlesSettings": source.model_dump_json(),
        "TargetDefaultLaneSequentialArticlesUrl": deployment.queues["default"]["normal"],
    }
    deployment.ledger.write([make_row(revision=0, lane=Lane.SEQUENTIAL)])

    sequential = replace(deployment, outputs=outputs)

    answer = requeue(sequential, make_row().task.document_id, lane="high").act()

    assert answer.lane == "sequential"


def test_failed_document_is_scheduled_for_a_time(deployment: Deployment) -> None:
    """R42: parked until then, with all its attempts; the sweep sends it."""
    deployment.ledger.write([make_row(revision=0, status=Status.FAILED, attempts=5, failed_ms=1)])
    at = datetime.now(UTC) + timedelta(hours=2)

    answer = retry(deployment, at=at, documents=("a",)).act()

    assert (answer.scheduled, answer.chosen) == (1, 1)
    [row] = deployment.ledger.read([make_row().row_key]).values()
    assert (row.status, row.group, row.progress.attempts) == (Status.PENDING, Group.PARKED, 0)
    assert row.due_ms == round(at.timestamp() * 1000)
    assert waiting(deployment, "normal") == 0


def test_time_that_is_over_is_refused(deployment: Deployment) -> None:
    """R42: with the time that was asked for."""
    deployment.ledger.write([make_row(revision=0, status=Status.FAILED)])

    with pytest.raises(UsageError, match=r"--at 2020-01-01 00:00:00 UTC is over"):
        retry(deployment, at=datetime(2020, 1, 1, tzinfo=UTC))
