"""Dead letters sent back at a rate, and exports that are not this stack's."""

from dataclasses import replace
from pathlib import Path

import pytest

from functions.core.identity import DocumentId
from functions.core.ledger_row import LedgerRow, Status
from ops.dead_changes import paced
from ops.dead_export import Exported, export, read_export
from ops.dead_queue import DeadLetter, is_obsolete
from ops.deployment import Deployment
from ops.output import UsageError, moment
from tests.builders import NOW_MS, make_row, make_task


def test_rate_is_kept_between_parts() -> None:
    """R41: two in a second, and no wait before the first."""
    waits: list[float] = []
    parts = [[make_row(), make_row()], [make_row(), make_row()], [make_row()]]

    assert list(paced(parts, 2, waits.append)) == parts

    assert waits == [1.0, 1.0]
    assert list(paced(parts, None, waits.append)) == parts
    assert len(waits) == 2


def letter(body: str) -> DeadLetter:
    return DeadLetter("id", "dead", moment(NOW_MS), body, "receipt")


@pytest.mark.parametrize(
    ("row", "obsolete"),
    [
        (None, True),
        (make_row(status=Status.FAILED), False),
        (make_row(status=Status.FAILED_MAX_RETRIES), False),
        (make_row(status=Status.PENDING), False),
        (make_row(status=Status.PENDING, version=NOW_MS + 1), True),
        (make_row(status=Status.FAILED, version=NOW_MS + 1), True),
        (make_row(status=Status.COMPLETED), True),
        (make_row(status=Status.DELETED), True),
    ],
)
def test_dead_letter_is_obsolete_when_its_document_went_on(
    row: LedgerRow | None, obsolete: bool
) -> None:
    """R41: what embed would acknowledge without work."""
    rows = {} if row is None else {row.row_key: row}

    assert is_obsolete(letter(make_task().to_json()), rows) is obsolete


def test_message_of_others_is_never_obsolete() -> None:
    """R41: nothing is known about it: a person decides."""
    assert not is_obsolete(letter("hello"), {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "line 1, is none of `embedq dead export`: stack: Field required"),
        ("hello", "line 1, is none of `embedq dead export`: the line: Invalid JSON"),
        (Exported(stack="other").model_dump_json(), "line 1, is of another stack: other"),
    ],
)
def test_wrong_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """R41: nothing is purged by it."""
    file = tmp_path / "dead.jsonl"
    file.write_text(text + "\n")

    with pytest.raises(UsageError, match=message):
        read_export(file, stack="mine")


@pytest.mark.parametrize("letter", ["\u2028", "\x85", "\x0b", "ä😀"])
def test_export_is_read_as_it_was_written(
    deployment: Deployment, tmp_path: Path, letter: str
) -> None:
    """R41: whatever an id or a message holds; only a line feed ends a line."""
    name = DocumentId(f"a{letter}b")
    deployment.ledger.write([make_row(revision=0, document_id=name, status=Status.FAILED)])
    here = replace(deployment, stack_arn="mine")
    file = tmp_path / "dead.jsonl"

    export(here, file=file)

    assert [one.document for one in read_export(file, stack="mine")] == [name]


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """R41: in words."""
    file = tmp_path / "dead.jsonl"
    file.write_bytes(b"\xe9\n")

    with pytest.raises(UsageError, match=r"dead\.jsonl cannot be read: "):
        read_export(file, stack="mine")
