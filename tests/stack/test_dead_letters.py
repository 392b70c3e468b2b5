"""Dead letters on the real queues: moved by SQS, sent by choice, exported and removed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from functions.core.ledger_row import Status
from ops.actions import actions
from ops.dead_changes import Moving, SentAgain, purge, redrive, requeue
from ops.dead_export import export
from ops.output import UsageError
from ops.proposal import carry_out
from tests.stack.articles import Articles
from tests.waiting import until


@pytest.fixture
def rejected(articles: Articles) -> Iterator[list[str]]:
    """Return two documents with a dead letter each; nothing is left of them."""
    articles.forget_dead_letters()
    names = [articles.new_name("rejected") for _ in range(2)]
    for name in names:
        articles.put(name, {"not": "a text"})
    articles.wait(*names, status=Status.FAILED)
    until(lambda: dead(articles) == 2, "the dead letters")
    yield names
    for name in names:
        articles.delete(name)
    articles.forget_dead_letters()


def dead(articles: Articles) -> int:
    return articles.deployment.count_dead_letters("default")


def test_chosen_document_is_sent_and_its_dead_letter_removed(
    articles: Articles, rejected: list[str]
) -> None:
    """R41: the other one stays where it is, and the action is noted with its reason."""
    one, other = rejected
    before = articles.row(one).task.version
    proposal = redrive(articles.deployment, documents=(one,))
    assert proposal.documents == 1

    answer = carry_out(
        articles.deployment, "dead redrive", proposal, reason="mended", dry_run=False, yes=True
    )

    assert answer == SentAgain(sent=1, chosen=1, removed=1)
    # It is still what it was: the same failure, of a later version, and a dead letter of its own.
    articles.wait(one, status=Status.FAILED, above=before)
    until(lambda: dead(articles) == 2, "the dead letters")
    assert articles.row(other).status is Status.FAILED
    noted = actions(articles.deployment, most=1).actions[0]
    assert (noted.command, noted.documents, noted.reason) == ("dead redrive", 1, "mended")
    assert noted.result.startswith("1 of 1 documents sent again")


def test_requeue_by_cause_indexes_what_was_corrected(
    articles: Articles, rejected: list[str]
) -> None:
    """R41 R42: the attribute is accepted now, and nothing of its failure is left."""
    versions = {name: articles.row(name).task.version for name in rejected}
    for name in rejected:
        articles.put(name, f"the corrected text of {name}")
    articles.wait(*rejected, above=max(versions.values()))
    assert dead(articles) == 2

    # Both are obsolete, whichever document is sent.
    broken = articles.new_name("rejected")
    articles.put(broken, {"not": "a text"})
    articles.wait(broken, status=Status.FAILED)
    until(lambda: dead(articles) == 3, "the dead letter")
    answer = requeue(articles.deployment, cause="is a map", lane="high").act()

    assert (answer.sent, answer.chosen) == (1, 1)
    assert answer.removed == 3
    articles.delete(broken)
    articles.wait(broken, status=Status.DELETED)


def test_sqs_moves_all_at_a_rate(articles: Articles, rejected: list[str]) -> None:
    """R41: the native move task; corrected documents are acknowledged on their way."""
    for name in rejected:
        articles.put(name, f"the corrected text of {name}")
    articles.wait(*rejected)
    proposal = redrive(articles.deployment, rate=100)
    assert proposal.documents == 2

    answer = proposal.act()

    assert answer == Moving(dead_letters=2, without_dead_letter=0)
    until(lambda: dead(articles) == 0, "no dead letter")
    assert {row.status for row in articles.rows(rejected)} == {Status.COMPLETED}


def test_only_what_was_exported_is_removed(
    articles: Articles, rejected: list[str], tmp_path: Path
) -> None:
    """R41 R46: a line for each document; its row stays unless that is asked for."""
    one, other = rejected
    file = tmp_path / "dead.jsonl"

    answer = export(articles.deployment, documents=(one,), file=file)

    assert (answer.documents, answer.dead_letters) == (1, 1)
    [line] = map(json.loads, file.read_text().splitlines())
    assert (line["document"], line["kind"], line["status"]) == (one, "invalid_input", "failed")
    assert dead(articles) == 2
    with pytest.raises(UsageError, match="exists: name another file"):
        export(articles.deployment, file=file)
    proposal = purge(articles.deployment, file=file, reason="never corrected")
    assert len(proposal.questions) == 2

    assert proposal.act().dead_letters == 1

    assert dead(articles) == 1
    assert articles.row(one).status is Status.FAILED
    assert purge(articles.deployment, file=file, reason="x", rows=True).act().rows == 1
    assert articles.rows([one]) == []
    assert articles.row(other).status is Status.FAILED
