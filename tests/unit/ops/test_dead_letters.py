"""Failed documents as an operator sees them: grouped by cause, redriven by SQS itself."""

from functions.core.identity import DocumentId
from functions.core.ledger_row import LedgerRow, Status
from ops.dead_letters import SHOWN, dead_list
from ops.deployment import Deployment
from tests.builders import NOW_MS, make_row


def failed(name: str, reason: str | None) -> LedgerRow:
    """Return a new row of a document that failed."""
    return make_row(
        revision=0,
        document_id=DocumentId(name),
        status=Status.FAILED,
        reason=reason,
        failed_ms=NOW_MS,
    )


def test_dead_letters_are_grouped_by_cause(deployment: Deployment) -> None:
    """R41: the most frequent cause first; open rows and other targets are left out."""
    deployment.ledger.write(
        [
            failed("a", "invalid_input: 400"),
            failed("b", "over 1000 chunks"),
            failed("c", "over 1000 chunks"),
            make_row(revision=0, document_id=DocumentId("open")),
            make_row(revision=0, target="other", status=Status.FAILED, reason="elsewhere"),
        ]
    )
    [fifo, _] = deployment.dead_letter_urls("default")
    deployment.client("sqs").send_message(
        QueueUrl=fifo, MessageBody="task", MessageGroupId="g", MessageDeduplicationId="d"
    )

    lines = dead_list(deployment)

    assert lines[:2] == [
        "target default: 1 dead letters, 3 failed documents",
        "  2 x over 1000 chunks",
    ]
    assert sorted(lines[2].strip().split(", ")) == ["b", "c"]
    assert lines[3:] == ["  1 x invalid_input: 400", "      a"]


def test_long_list_is_cut(deployment: Deployment) -> None:
    """R41: the number tells how many there are."""
    deployment.ledger.write([failed(f"d{number}", None) for number in range(SHOWN + 2)])

    lines = dead_list(deployment)

    assert lines[1] == f"  {SHOWN + 2} x no reason recorded"
    assert lines[2].endswith(" and 2 more")
