"""Failed documents as an operator sees them: grouped by cause, redriven by SQS itself."""

from functions.core.identity import DocumentId
from functions.core.ledger_row import LedgerRow, Status
from ops.dead_letters import SHOWN, dead_list
from ops.deployment import Deployment
from ops.output import as_text
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

    [target] = dead_list(deployment).targets

    assert (target.target, target.dead_letters, target.failed_documents) == ("default", 1, 3)
    [first, second] = target.causes
    assert (first.cause, sorted(first.documents)) == ("over 1000 chunks", ["b", "c"])
    assert (second.cause, second.documents) == ("invalid_input: 400", ("a",))


def test_causes_are_shown_as_a_table(deployment: Deployment) -> None:
    """R41: how many, why and which; brackets in a cause are printed as they are."""
    deployment.ledger.write([failed("a", "[bold] input")])

    lines = as_text(dead_list(deployment)).splitlines()

    assert lines[0] == "target default: 0 dead letters, 1 failed documents"
    assert [" ".join(line.split()) for line in lines[1:]] == [
        "number cause documents",
        "1 [bold] input a",
        "What to do: docs/operations.md, Dead letters",
    ]


def test_without_failed_documents_nothing_is_to_do(deployment: Deployment) -> None:
    """R41: one line."""
    assert as_text(dead_list(deployment)) == "target default: 0 dead letters, 0 failed documents"


def test_long_list_is_cut(deployment: Deployment) -> None:
    """R41: the number says how many there are; the JSON has all."""
    deployment.ledger.write([failed(f"d{number}", None) for number in range(SHOWN + 2)])

    answer = dead_list(deployment)

    shown = as_text(answer).splitlines()[2]
    assert shown.split()[:4] == [str(SHOWN + 2), "no", "reason", "recorded"]
    assert shown.endswith(" and 2 more")
    assert len(answer.targets[0].causes[0].documents) == SHOWN + 2
