"""Failed documents as an operator sees them: grouped by cause, each with what to do."""

from pathlib import Path

import pytest

from functions.core.failure import FailureKind
from functions.core.identity import DocumentId
from functions.core.ledger_row import ErrorRecord, LedgerRow, Status
from ops.dead_export import export
from ops.dead_letters import SHOWN, causes, dead_list, show
from ops.deployment import Deployment
from ops.output import UsageError, as_text
from tests.builders import NOW_MS, make_row


def failed(
    name: str,
    message: str,
    *,
    kind: FailureKind = FailureKind.INVALID_INPUT,
    status: Status = Status.FAILED,
    at_ms: int = NOW_MS,
) -> LedgerRow:
    """Return a new row of a document that failed."""
    return make_row(
        revision=0,
        document_id=DocumentId(name),
        status=status,
        reason=f"{kind}: {message}",
        failed_ms=at_ms,
        errors=(ErrorRecord(at_ms, kind, message),),
    )


def test_dead_letters_are_grouped_by_cause(deployment: Deployment) -> None:
    """R41: the most frequent cause first; open rows and other targets are left out."""
    deployment.ledger.write(
        [
            failed("a", "answered 400"),
            failed("b", "1001 chunks"),
            failed("c", "1002 chunks"),
            failed("d", "503", kind=FailureKind.PROVIDER_ERROR, status=Status.FAILED_MAX_RETRIES),
            make_row(revision=0, document_id=DocumentId("open")),
            make_row(revision=0, target="other", status=Status.FAILED, reason="elsewhere"),
        ]
    )
    [fifo, _] = deployment.dead_letter_urls("default")
    deployment.client("sqs").send_message(
        QueueUrl=fifo, MessageBody="task", MessageGroupId="g", MessageDeduplicationId="d"
    )

    [target] = dead_list(deployment).targets

    assert (target.target, target.dead_letters, target.failed_documents) == ("default", 1, 4)
    first = target.causes[0]
    assert (first.message, first.number) == ("N chunks", 2)
    assert sorted(one.document for one in first.documents) == ["b", "c"]
    assert {one.kind for one in target.causes} == {"invalid_input", "provider_error"}


def test_documents_are_shown_below_their_cause(deployment: Deployment) -> None:
    """R41: why, what to do, and which; brackets are printed as they are."""
    deployment.ledger.write([failed("a", "[bold] input")])

    lines = as_text(dead_list(deployment)).splitlines()

    assert lines[0] == "target default: 0 dead letters, 1 failed documents"
    assert lines[2].endswith(", 1 documents: invalid_input: [bold] input")
    assert lines[3] == "what to do: correct the document: its next write starts new attempts"
    assert lines[5].split()[:3] == ["a", "articles", "failed"]


def test_document_without_some_chunks_is_listed_too(deployment: Deployment) -> None:
    """R41: it is searchable, and a person should look."""
    deployment.ledger.write(
        [
            make_row(
                revision=0,
                status=Status.PARTIALLY_COMPLETED,
                chunks_done=3,
                chunks_failed=1,
                completed_ms=NOW_MS,
            )
        ]
    )

    [target] = dead_list(deployment).targets

    assert (target.failed_documents, target.incomplete_documents) == (0, 1)
    assert target.causes[0].message == "some chunks were rejected"
    assert "1 without some chunks" in as_text(dead_list(deployment))


def test_without_failed_documents_nothing_is_to_do(deployment: Deployment) -> None:
    """R41: one line each."""
    assert as_text(dead_list(deployment)) == "target default: 0 dead letters, 0 failed documents"
    assert as_text(causes(deployment)) == "no failed document"


def test_long_list_is_cut(deployment: Deployment) -> None:
    """R41: the number says how many there are; the JSON has all."""
    deployment.ledger.write([failed(f"d{number}", "empty") for number in range(SHOWN + 2)])

    answer = dead_list(deployment)

    assert as_text(answer).splitlines()[-1] == "and 2 more: --json has all"
    assert len(answer.targets[0].causes[0].documents) == SHOWN + 2


def test_causes_have_times_and_remedies(deployment: Deployment) -> None:
    """R42: first and last seen, how many, and what to do."""
    deployment.ledger.write(
        [failed("a", "7 chunks", at_ms=NOW_MS + 60_000), failed("b", "8 chunks", at_ms=NOW_MS)]
    )

    [one] = causes(deployment).causes

    assert (one.number, one.message) == (2, "N chunks")
    assert (one.last - one.first).total_seconds() == 60
    assert one.remedy in as_text(causes(deployment))


def test_one_document_is_shown_with_the_command_that_sends_it(deployment: Deployment) -> None:
    """R41 R42: errors, cause and what to do."""
    deployment.ledger.write([failed("a b", "7 chunks")])

    text = as_text(show(deployment, "a b"))

    assert "error      2023-11-14 22:13:20 UTC invalid_input: 7 chunks" in text
    assert "what to do correct the document" in text
    assert "embedq dead requeue 'a b' --source articles --target default" in text


def test_document_that_is_not_failed_is_not_shown(deployment: Deployment) -> None:
    """R41: its state is named."""
    deployment.ledger.write([make_row(revision=0)])

    with pytest.raises(UsageError, match="default/articles/a is pending, not failed"):
        show(deployment, "a")


@pytest.mark.parametrize("name", ["old.jsonl", "archive/old", "here"])
def test_file_in_the_place_of_an_id_is_told_apart(
    deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """R41: whoever leaves --file out is shown how it is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").touch()

    with pytest.raises(UsageError, match=f"no row of '{name}'; a file to write is --file {name}"):
        export(deployment, documents=(name,))


def test_export_of_an_unknown_id_names_no_file(deployment: Deployment) -> None:
    """R41: only what looks like a file is told to be one."""
    with pytest.raises(UsageError, match=r"the ledger has no row of 'nobody'$"):
        export(deployment, documents=("nobody",))


def test_document_called_like_a_file_is_exported(deployment: Deployment, tmp_path: Path) -> None:
    """R41: an id is an id, whatever it looks like."""
    deployment.ledger.write([failed("old.jsonl", "answered 400")])

    done = export(deployment, file=tmp_path / "dead", documents=("old.jsonl",))

    assert done.documents == 1


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("-", "an export is a file, and no stream"),
        ("nowhere/old.jsonl", "there is no folder nowhere"),
    ],
)
def test_export_without_a_place_is_refused_at_once(
    deployment: Deployment, file: str, message: str
) -> None:
    """R41: before dead letters are received, and so hidden for a while."""
    with pytest.raises(UsageError, match=message):
        export(deployment, file=Path(file))
