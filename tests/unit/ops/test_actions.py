"""Commands that change something: tried out, asked about, done, and noted with their reason."""

import getpass
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from functions.core.ledger_row import Group
from functions.core.verification import Kind
from ops import cli, frame
from ops.action_log import who
from ops.actions import actions
from ops.cli import main
from ops.deployment import Deployment
from ops.frame import Noun
from ops.output import Answer, CommandError, as_text
from ops.proposal import Proposal, carry_out
from ops.verification import Differences
from tests.builders import make_row

ARN = "arn:aws:cloudformation:us-east-1:1:stack/embedq-local/1"


class Done(Answer):
    """What was changed."""

    number: int

    def view(self) -> list[str]:
        return [f"{self.number} changed"]


@pytest.fixture
def change(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[], Done]], list[str]]:
    """Return how to add a command `change` about three documents, which asks twice."""
    here = Deployment(deployment.outputs, deployment.session, stack_arn=ARN)
    monkeypatch.setattr(frame, "connect", lambda *_: here)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))

    def add(act: Callable[[], Done]) -> list[str]:
        noun = Noun("Samples")

        @noun.change_command(asks=True, examples=["change"])
        def change(deployment: Deployment) -> Proposal[Done]:
            """Change three documents."""
            del deployment
            return Proposal("change three documents", 3, act, ("Change?", "Really?"))

        monkeypatch.setattr(cli, "NOUNS", (*cli.NOUNS, noun))
        return ["change"]

    return add


def refused() -> Done:
    raise CommandError("the table is full")


def test_dry_run_counts_and_changes_nothing(
    deployment: Deployment, change: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """R40 R41: no question, no action, the number of documents."""
    assert main([*change(refused), "--dry-run"]) == 0

    printed = capsys.readouterr()
    assert printed.out == "would change three documents; documents: 3; nothing was changed\n"
    assert printed.err == "This would change the stack embedq-local on this machine.\n"
    assert actions(deployment).actions == ()


def test_action_is_noted_with_its_reason_and_result(
    deployment: Deployment, change: Callable[..., list[str]]
) -> None:
    """R40: who, what, when, why and how it ended; in none of the lists of documents."""
    deployment.ledger.write([make_row(revision=0)])

    assert main([*change(lambda: Done(number=2)), "--yes", "--reason", "ticket 7"]) == 0

    [one] = actions(deployment).actions
    assert (one.command, one.what, one.documents) == ("change", "change three documents", 3)
    assert (one.reason, one.result) == ("ticket 7", "2 changed")
    assert one.who
    assert "ticket 7" in as_text(actions(deployment))
    assert len(list(deployment.listed(list(Group)))) == 1


def test_repair_is_noted_with_its_number(deployment: Deployment) -> None:
    """R40: its answer begins with a table, whose header says nothing."""
    repaired = Differences(documents=9, counts={Kind.MISSING: 2}, differences=(), sent=2)
    proposal = Proposal("send 2 documents that differ again", 2, lambda: repaired)

    carry_out(deployment, "verify --repair", proposal, reason=None, dry_run=False, yes=True)

    assert [one.result for one in actions(deployment).actions] == ["2 of 2 sent again"]


def test_action_that_failed_is_noted_too(
    deployment: Deployment, change: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: with its error, which the person sees as well."""
    assert main([*change(refused), "--yes"]) == 1

    assert "embedq: the table is full" in capsys.readouterr().err
    [one] = actions(deployment).actions
    assert (one.result, one.reason) == ("failed: the table is full", "")


def test_nothing_is_done_without_an_answer(
    deployment: Deployment, change: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: without a terminal the message names --yes, with exit code 2."""
    assert main(change(refused)) == 2

    assert "Change? There is no terminal to ask on: answer with --yes" in capsys.readouterr().err
    assert actions(deployment).actions == ()


@pytest.mark.parametrize(("answers", "code", "noted"), [("yy", 0, 1), ("yn", 130, 0)])
def test_every_question_is_asked_on_a_terminal(
    deployment: Deployment,
    change: Callable[..., list[str]],
    monkeypatch: pytest.MonkeyPatch,
    answers: str,
    code: int,
    noted: int,
) -> None:
    """R41: a purge asks twice."""
    typed = iter(answers)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda *_: next(typed))

    assert main(change(lambda: Done(number=2))) == code

    assert len(actions(deployment).actions) == noted


def test_newest_action_is_first(deployment: Deployment, change: Callable[..., list[str]]) -> None:
    """R40: and no more than was asked for."""
    words = change(lambda: Done(number=2))
    for number in range(3):
        main([*words, "--yes", "--reason", f"reason {number}"])

    assert [one.reason for one in actions(deployment, most=2).actions] == ["reason 2", "reason 1"]


def test_without_actions_it_is_said(deployment: Deployment) -> None:
    """R40: an empty list is not an error."""
    assert as_text(actions(deployment)).startswith("nobody has changed anything")


def test_action_expires(deployment: Deployment, change: Callable[..., list[str]]) -> None:
    """R40: the ledger's table is bounded; DynamoDB removes it after 90 days."""
    main([*change(lambda: Done(number=2)), "--yes"])

    [item] = deployment.client("dynamodb").scan(TableName="ledger")["Items"]
    kept_ms = int(item["expires_at"]["N"]) * 1000 - int(item["at_ms"]["N"])
    assert round(kept_ms / 86_400_000) == 90


def test_person_without_a_name_is_noted_all_the_same(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R40: a container may run under a number that no user has."""

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(getpass, "getuser", nameless)

    assert who(deployment) == "unknown"
