"""A budget on the real stack: documents above it wait, what needs no request goes on."""

import time
from datetime import UTC, datetime, timedelta

from functions.core.budget import Caps, Cost
from functions.core.failure import FailureKind
from functions.core.ledger_row import Group, Status
from ops.budgets import raise_, show
from tests.stack.articles import Articles
from tests.waiting import until

LEFT_TOKENS, CHUNK_TOKENS = 1000, 400
# Some 150 tokens each: not all of them can be paid.
BODY = "A document that costs money, as every text does that a provider embeds. " * 8
DOCUMENTS = 12


def use_up(articles: Articles) -> int:
    """Let little of the day's budget be left; return the cap."""
    control, now_ms = articles.deployment.control, time.time_ns() // 1_000_000
    spent = control.read("default").spent
    settings = articles.deployment.target("default").budget
    assert settings is not None
    cap = settings.tokens_per_day or 0
    cost = Cost(cap - LEFT_TOKENS - spent.at(now_ms).tokens)
    assert control.reserve("default", spent, cost, Caps(), now_ms=now_ms)
    return cap


def test_documents_over_budget_wait_and_come_when_it_is_raised(articles: Articles) -> None:
    """R19: two workers keep the cap; deletes and metadata go on; the raise is seen in seconds."""
    gone, kept = articles.new_name("gone"), articles.new_name("kept")
    articles.indexed(gone, "to be deleted")
    before = articles.indexed(kept, "to stay", author="one")
    cap = use_up(articles)
    names = [articles.new_name("cost") for _ in range(DOCUMENTS)]

    for name in names:
        articles.put(name, f"{name}: {BODY}")

    def are_settled() -> bool:
        rows = articles.rows(names)
        waiting = [row for row in rows if row.group is Group.OVER_BUDGET]
        ended = [row for row in rows if row.status is Status.COMPLETED]
        is_used_up = show(articles.deployment).budgets[0].left < CHUNK_TOKENS
        return len(waiting) + len(ended) == DOCUMENTS and is_used_up

    until(are_settled, "the budget is used up")
    waiting = [row for row in articles.rows(names) if row.group is Group.OVER_BUDGET]
    assert 0 < len(waiting) < DOCUMENTS
    assert {row.errors[-1].kind for row in waiting} == {FailureKind.BUDGET}
    assert {row.progress.attempts for row in waiting} == {0}
    assert articles.deployment.control.read("default").spent.tokens <= cap

    articles.delete(gone)
    articles.put(kept, "to stay", author="two")
    articles.wait(gone, status=Status.DELETED)
    articles.wait(kept, above=before.task.version)

    tomorrow = datetime.now(UTC) + timedelta(days=1)
    raise_(articles.deployment, tokens=2 * cap, until=tomorrow, reason="the test goes on").act()
    articles.wait(*names)
    until(lambda: articles.deployment.control.read("default").raised.is_logged, "it is logged")
