"""What is no longer deployed: counted by no command, written to a file, and removed."""

import json
from pathlib import Path
from typing import Any

import pytest

from functions.core.breaker import Breaker, Circuit
from functions.core.failure import Part
from functions.core.identity import DocumentId
from functions.core.ledger_row import LedgerRow, Status
from ops.deployment import Deployment
from ops.forgetting import forget
from ops.output import UsageError, as_text
from ops.recovery import recover
from ops.selection import Selection
from ops.stuck import stuck
from tests.builders import make_row


def row(name: str, **changes: Any) -> LedgerRow:
    return make_row(revision=0, document_id=DocumentId(name), **changes)


@pytest.fixture
def ledger(deployment: Deployment) -> Deployment:
    """Put rows of a target and a source that are gone beside those of the deployed ones."""
    deployment.ledger.write(
        [
            row("a"),
            row("b", target="former"),
            row("c", target="former", status=Status.COMPLETED),
            row("d", source="drafts", status=Status.FAILED),
        ]
    )
    deployment.control.swap("former", Part.INDEX, Breaker(), Breaker(state=Circuit.OPEN))
    return deployment


def keys(deployment: Deployment) -> list[str]:
    """Return the key of every item in the ledger's table."""
    found = deployment.client("dynamodb").scan(TableName="ledger")["Items"]
    return sorted(item["row_key"]["S"] for item in found)


def test_rows_of_a_target_are_exported_and_removed(ledger: Deployment, tmp_path: Path) -> None:
    """R40: closed ones and its breakers too; other targets keep theirs."""
    file = tmp_path / "rows.jsonl"

    answer = forget(ledger, target="former", export=file).act()

    assert as_text(answer) == f"3 rows of target former removed; they are in {file}"
    exported = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(item["row_key"]["S"] for item in exported) == [
        "control/former",
        "former/articles/b",
        "former/articles/c",
    ]
    assert keys(ledger) == ["default/articles/a", "default/drafts/d"]


def test_exported_line_brings_its_row_back(ledger: Deployment, tmp_path: Path) -> None:
    """R40: it is the item, as DynamoDB takes it."""
    file = tmp_path / "rows.jsonl"
    forget(ledger, source="drafts", export=file).act()
    assert "default/drafts/d" not in keys(ledger)

    [line] = file.read_text().splitlines()
    ledger.client("dynamodb").put_item(TableName="ledger", Item=json.loads(line))

    [back] = ledger.ledger.read([row("d", source="drafts").row_key]).values()
    assert (back.status, back.task.source) == (Status.FAILED, "drafts")


def test_rows_of_a_source_are_removed_in_every_target(ledger: Deployment, tmp_path: Path) -> None:
    """R40: or in one of them."""
    ledger.ledger.write([row("e", target="former", source="drafts")])

    forget(ledger, target="former", source="drafts", export=tmp_path / "one.jsonl").act()
    assert "default/drafts/d" in keys(ledger)
    assert "former/drafts/e" not in keys(ledger)
    assert "control/former" in keys(ledger)

    forget(ledger, source="drafts", export=tmp_path / "all.jsonl").act()
    assert "default/drafts/d" not in keys(ledger)


@pytest.mark.parametrize(
    ("target", "source", "message"),
    [
        ("default", None, "target default is deployed"),
        (None, "articles", "source articles is deployed"),
        ("default", "articles", "target default and source articles is deployed"),
        (None, None, "name it with --target or --source"),
    ],
)
def test_what_is_deployed_is_not_forgotten(
    ledger: Deployment, target: str | None, source: str | None, message: str
) -> None:
    """R40: its rows are in use."""
    before = keys(ledger)

    with pytest.raises(UsageError, match=message):
        forget(ledger, target=target, source=source).act()

    assert keys(ledger) == before


def test_question_names_how_many_rows_and_nothing_happens_without_an_answer(
    ledger: Deployment, tmp_path: Path
) -> None:
    """R40: counted first."""
    file, before = tmp_path / "rows.jsonl", keys(ledger)

    proposal = forget(ledger, target="former", export=file)

    assert proposal.documents == 3
    [question] = proposal.questions
    assert "target former (1 breakers, 1 completed, 1 pending) to " in question

    assert keys(ledger) == before
    assert not file.exists()


def test_file_that_exists_is_not_written_over(ledger: Deployment, tmp_path: Path) -> None:
    """R40: it may be the only copy of what was forgotten before."""
    file = tmp_path / "rows.jsonl"
    file.write_text("before\n")

    with pytest.raises(UsageError, match="exists: name another file with --export"):
        forget(ledger, target="former", export=file).act()

    assert file.read_text() == "before\n"


def test_name_without_rows_is_said(ledger: Deployment) -> None:
    """R40: a typing error removes nothing."""
    answer = forget(ledger, target="formr").act()

    assert as_text(answer) == "the ledger has no row of target formr"


def test_commands_pass_over_what_is_not_deployed(ledger: Deployment) -> None:
    """R40: it is neither stuck, nor failed, nor sent again."""
    assert stuck(ledger).number == 1
    assert Selection().rows(ledger) == []
    assert recover(ledger).documents == 1


def test_question_names_the_file_as_it_is_written(ledger: Deployment, tmp_path: Path) -> None:
    """R41: with its capital letters."""
    file = tmp_path / "Rows.jsonl"

    [question] = forget(ledger, target="former", export=file).questions

    assert question.startswith("Write the rows of target former")
    assert question.endswith(f"to {file}, and remove them?")


def test_empty_names_are_none(ledger: Deployment) -> None:
    """R41: `--target "$OLD"`, where the variable is not set."""
    with pytest.raises(UsageError, match="which one"):
        forget(ledger, target="", source="")
