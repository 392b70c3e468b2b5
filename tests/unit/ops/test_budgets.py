"""Budgets from the command line: shown, and raised with a reason that the sweep logs."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from functions.core.budget import NANO, Caps, Cost, Spent
from ops import frame
from ops.budgets import BudgetLine, RaisedBudget, raise_, show
from ops.cli import main
from ops.deployment import Deployment
from ops.output import UsageError, as_text
from tests.builders import NOW_MS, make_row, make_target

TOMORROW = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)


@pytest.fixture
def limited(deployment: Deployment) -> Deployment:
    target = make_target(
        budget={"tokens_per_day": 1000, "usd_per_month": 2}, usd_per_million_tokens=0.02
    )
    outputs = {**deployment.outputs, "TargetDefaultSettings": target.model_dump_json()}
    return replace(deployment, outputs=outputs, stack_arn="arn:aws:cloudformation:x:1:stack/s/1")


def shown(deployment: Deployment) -> tuple[BudgetLine, ...]:
    return show(deployment).budgets


def spend(deployment: Deployment, tokens: int, usd: float) -> None:
    now_ms = time.time_ns() // 1_000_000
    cost = Cost(tokens, round(usd * NANO))
    assert deployment.control.reserve("default", Spent(), cost, Caps(), now_ms=now_ms)


def lift(deployment: Deployment, **options: Any) -> RaisedBudget:
    given: dict[str, Any] = {
        "tokens": 5000,
        "until": TOMORROW,
        "reason": "a reload",
    } | options
    return raise_(deployment, **given).act()


def test_each_limit_is_shown_with_what_is_left_and_until_when(limited: Deployment) -> None:
    """R19 R40: of tokens and of dollars."""
    spend(limited, 250, 0.5)

    tokens, dollars = shown(limited)

    assert (tokens.used, tokens.cap, tokens.left, tokens.percent) == (250, 1000, 750, 25)
    assert (dollars.used, dollars.cap, dollars.left, dollars.percent) == (0.5, 2, 1.5, 25)
    assert tokens.until.date() == datetime.now(UTC).date() + timedelta(days=1)
    assert dollars.until.day == 1
    assert "tokens a day" in as_text(show(limited))


def test_target_without_a_budget_says_how_to_get_one(deployment: Deployment) -> None:
    """R19: no empty table."""
    assert as_text(show(deployment)).startswith("no target has a budget: add a budget")


def test_raise_holds_until_its_time_and_is_shown_with_its_reason(limited: Deployment) -> None:
    """R19: the sweep has yet to log it."""
    spend(limited, 1000, 0)

    answer = lift(limited)

    raised = limited.control.read("default").raised
    assert (raised.tokens, raised.nanousd, raised.reason, raised.is_logged) == (
        5000,
        0,
        "a reload",
        False,
    )
    tokens, dollars = shown(limited)
    assert (tokens.cap, tokens.left, tokens.reason) == (5000, 4000, "a reload")
    assert (tokens.raised_until, dollars.cap) == (TOMORROW, 2)
    assert as_text(answer).startswith("the budget of target default is 5,000 tokens a day until")


def test_later_raise_replaces_the_one_before(limited: Deployment) -> None:
    """R19: both limits at once, too."""
    lift(limited)
    lift(limited, tokens=7000, usd=9.5, reason="more")

    assert [line.cap for line in shown(limited)] == [7000, 9.5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": 1000}, "--tokens 1,000 does not raise it: the settings allow 1,000"),
        ({"tokens": None, "usd": 1.5}, "--usd 1.5 does not raise it"),
        ({"tokens": None}, "name the new cap: --tokens, --usd or both"),
        ({"until": datetime(2020, 1, 1, tzinfo=UTC)}, "--until 2020-01-01 00:00:00 UTC is over"),
    ],
)
def test_raise_that_says_too_little_is_refused(
    limited: Deployment, options: dict[str, Any], message: str
) -> None:
    """R19: with what to do."""
    with pytest.raises(UsageError, match="^" + message):
        lift(limited, **options)

    assert limited.control.read("default").raised.until_ms == 0


def test_raise_ends_at_a_time_or_after_a_while(
    limited: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R19 R40: as `retry --at` takes it."""
    monkeypatch.setattr(frame, "connect", lambda *_: limited)
    raised = ["budget", "raise", "--tokens", "5000", "--reason", "a reload", "--until"]

    assert main([*raised, "soon"]) == 2
    assert "'soon' is no time: write 2026-01-31" in capsys.readouterr().err
    assert main([*raised, "2h"]) == 0

    ends = limited.control.read("default").raised.until_ms / 1000
    assert ends == pytest.approx(time.time() + 7200, abs=60)


def test_raise_needs_a_limit_that_is_there(deployment: Deployment, limited: Deployment) -> None:
    """R19: no budget, or none of that kind."""
    target = make_target(budget={"tokens_per_day": 1000})
    outputs = {**limited.outputs, "TargetDefaultSettings": target.model_dump_json()}
    only_tokens = replace(limited, outputs=outputs)

    with pytest.raises(UsageError, match="target default has no budget"):
        lift(deployment)
    with pytest.raises(UsageError, match="--usd: the budget of target default has no such limit"):
        lift(only_tokens, usd=5.0)


def test_word_alone_shows_the_budgets(
    limited: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R19 R40: with its options, too; `--help` lists what there is."""
    monkeypatch.setattr(frame, "connect", lambda *_: limited)

    assert main(["budget"]) == 0
    assert "tokens a day" in capsys.readouterr().out
    assert main(["budget", "--json"]) == 0
    assert '"budgets"' in capsys.readouterr().out
    assert main(["budget", "--help"]) == 0
    assert "raise" in capsys.readouterr().out


def test_proposal_counts_the_documents_that_wait(limited: Deployment) -> None:
    """R19: before anything is changed."""
    row = make_row(revision=0, parked=True, over_budget=True, next_attempt_ms=NOW_MS)
    limited.ledger.write([row])

    proposal = raise_(limited, tokens=5000, until=TOMORROW, reason="x")

    assert (proposal.documents, limited.control.read("default").raised.until_ms) == (1, 0)
