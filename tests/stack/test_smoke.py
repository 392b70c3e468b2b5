"""The command that a person runs first in an account, here on the real engines."""

import pytest

from functions.adapters.dynamodb_values import from_dynamodb
from functions.core.ledger_row import Status
from local.provider.faults import Fault, FaultKind
from ops.smoke import PREFIX, smoke
from tests.stack.articles import Articles
from tests.waiting import until

DOWN = Fault(FaultKind.SERVER_ERROR, status=503)


def left(articles: Articles) -> list[dict[str, object]]:
    """Return the items of smoke that are still in the table."""
    table = articles.deployment.source("articles").table
    items = articles.deployment.client("dynamodb").scan(TableName=table)["Items"]
    found = [from_dynamodb(item) for item in items]
    return [item for item in found if str(item["id"]).startswith(PREFIX)]


def test_every_step_passes_and_nothing_is_left(
    articles: Articles, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: one line each with its seconds, exit code 0, no item and no dead letter afterwards."""
    # With dead letters of others a part of the steps is left out.
    articles.forget_dead_letters()

    answer = smoke(articles.deployment).act()

    assert answer.error is None
    assert answer.exit_code == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "write",
        "search",
        "edit",
        "dead letter",
        "redrive",
        "delete",
    ]
    assert all(line.endswith(" s)") for line in lines)
    assert left(articles) == []
    assert articles.deployment.count_dead_letters("default") == 0


def test_failed_step_says_what_the_ledger_knows_and_removes_the_items(articles: Articles) -> None:
    """R40: exit code 1; the provider's answer is in the line."""
    articles.break_provider(DOWN)

    answer = smoke(articles.deployment, seconds=5).act()

    assert answer.exit_code == 1
    assert answer.steps == ()
    assert "smoke failed: write: not within 5 s" in (answer.error or "")
    assert "503" in (answer.error or "")
    assert left(articles) == []


def test_dead_letters_of_others_are_not_moved(
    articles: Articles, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40 R41: a redrive takes all of them, so that smoke leaves it out and says so."""
    name = articles.new_name()
    table = articles.deployment.source("articles").table
    dynamodb = articles.deployment.client("dynamodb")
    dynamodb.put_item(
        TableName=table, Item={"id": {"S": name}, "body": {"M": {"not": {"S": "a text"}}}}
    )
    articles.wait(name, status=Status.FAILED)
    until(lambda: articles.deployment.count_dead_letters("default") == 1, "the dead letter")

    answer = smoke(articles.deployment).act()

    assert answer.error is None
    assert "left out, as there are 1 dead letters" in capsys.readouterr().out
    assert len(answer.steps) == 4
    assert articles.row(name).status is Status.FAILED
    assert articles.deployment.count_dead_letters("default") == 1
    articles.forget_dead_letters()
    articles.delete(name)
