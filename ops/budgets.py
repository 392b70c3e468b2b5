"""Budgets by hand: what is used and left, and raised until a time, with a reason."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from functions.core.budget import NANO, Raised, budget_of
from functions.core.ledger_row import Group
from ops.frame import TARGET, Noun
from ops.numbers import Amount, Count
from ops.output import Answer, CommandError, UsageError, moment, table, written
from ops.proposal import Proposal
from ops.selection import Moment

if TYPE_CHECKING:
    from functions.core.settings import TargetSettings
    from ops.deployment import Deployment

NOUN = Noun("Budget", group="budget", summary="What each target may spend.", default="show")
EFFECT = "workers follow within seconds; documents that wait are sent within minutes"
NO_BUDGET = "add a budget to the target in cdk.json and deploy"


class BudgetLine(Answer):
    """One limit of one target."""

    target: str
    unit: str
    period: str
    cap: float
    used: float
    left: float
    percent: int
    until: datetime
    raised_until: datetime | None = None
    reason: str | None = None


class Budgets(Answer):
    """The limits of every target that has any."""

    budgets: tuple[BudgetLine, ...]

    def view(self) -> Iterable[Any]:
        if not self.budgets:
            yield f"no target has a budget: {NO_BUDGET}"
            return
        columns = ["target", "limit", "used", "cap", "left", "%", "until", "raised until", "why"]
        yield table(columns, map(_cells, self.budgets))


class RaisedBudget(Answer):
    """A budget that a person has raised."""

    target: str
    tokens_per_day: int | None
    usd_per_month: float | None
    until: datetime
    reason: str

    def view(self) -> Iterable[str]:
        caps = []
        if self.tokens_per_day is not None:
            caps.append(f"{self.tokens_per_day:,} tokens a day")
        if self.usd_per_month is not None:
            caps.append(f"{self.usd_per_month:,.2f} USD a month")
        return [
            f"the budget of target {self.target} is {' and '.join(caps)} until"
            f" {written(self.until)} ({self.reason}): {EFFECT}"
        ]


@NOUN.stack_command(TARGET, examples=["budget show", "budget --target default --stage prod --json"])
def show(deployment: "Deployment", *, target: str | None = None) -> Budgets:
    """Show what each target may still spend, and until when."""
    chosen = [deployment.target(target)] if target else list(deployment.targets.values())
    lines = [line for one in chosen for line in _lines(deployment, one)]
    return Budgets(budgets=tuple(lines))


@NOUN.change_command(
    click.Option(["--tokens"], type=Count(1), help="The cap of a day while it is raised."),
    click.Option(["--usd"], type=Amount(0.01), help="The cap of a month while it is raised."),
    click.Option(
        ["--until"],
        type=Moment(is_ahead=True),
        metavar="TIME",
        required=True,
        help="When the settings hold again: 2h, 2026-11-18T06:00Z.",
    ),
    TARGET,
    name="raise",
    needs_reason=True,
    examples=[
        'budget raise --tokens 5000000 --until 2026-11-18T06:00Z --reason "a new source"',
        'budget raise --usd 40 --until 2026-12-01 --stage prod --reason "the catalogue moves"',
    ],
)
def raise_(
    deployment: "Deployment",
    *,
    reason: str,
    until: datetime,
    tokens: int | None = None,
    usd: float | None = None,
    target: str | None = None,
) -> Proposal[RaisedBudget]:
    """Raise a budget until a time; documents that wait for it go on."""
    mine = deployment.target(target)
    _check_caps(mine, tokens, usd)
    wanted = Raised(
        until_ms=_end_ms(until),
        tokens=tokens or 0,
        nanousd=round((usd or 0) * NANO),
        reason=reason.strip(),
        is_logged=False,
    )
    over_budget = deployment.listed([Group.OVER_BUDGET])
    return Proposal(
        f"raise the budget of target {mine.name} until {written(moment(wanted.until_ms))}",
        documents=sum(one.target == mine.name for one in over_budget),
        act=lambda: _raise(deployment, mine.name, wanted),
    )


def _raise(deployment: "Deployment", target: str, wanted: Raised) -> RaisedBudget:
    before = deployment.control.read(target).raised
    after = replace(wanted, since_ms=max(_now_ms(), before.since_ms + 1))
    if not deployment.control.raise_budget(target, before, after):
        raise CommandError(
            f"the budget of target {target} is raised by others meanwhile: try again"
        )
    return RaisedBudget(
        target=target,
        tokens_per_day=after.tokens or None,
        usd_per_month=after.nanousd / NANO or None,
        until=moment(after.until_ms),
        reason=after.reason,
    )


def _check_caps(target: "TargetSettings", tokens: int | None, usd: float | None) -> None:
    budget = target.budget
    if budget is None or not budget.limits_target:
        raise UsageError(f"target {target.name} has no budget: {NO_BUDGET}")
    if tokens is None and usd is None:
        raise UsageError("name the new cap: --tokens, --usd or both")
    caps = (("--tokens", tokens, budget.tokens_per_day), ("--usd", usd, budget.usd_per_month))
    for option, wanted, cap in caps:
        if wanted is None:
            continue
        if cap is None:
            raise UsageError(f"{option}: the budget of target {target.name} has no such limit")
        if wanted <= cap:
            raise UsageError(
                f"{option} {wanted:,} does not raise it: the settings allow {cap:,}; a lower cap is"
                " set in cdk.json"
            )


def _end_ms(until: datetime) -> int:
    end_ms = round(until.timestamp() * 1000)
    if end_ms <= _now_ms():
        raise UsageError(f"--until {written(until)} is over: name a time to come, in UTC")
    return end_ms


def _lines(deployment: "Deployment", target: "TargetSettings") -> Iterator[BudgetLine]:
    control, now_ms = deployment.control.read(target.name), _now_ms()
    found = budget_of(target, control, now_ms=now_ms)
    is_raised = control.raised.until_ms > now_ms
    for limit in found.limits() if found else ():
        yield BudgetLine(
            target=target.name,
            unit=limit.unit,
            period=limit.period,
            cap=limit.cap,
            used=limit.spent,
            left=max(limit.cap - limit.spent, 0),
            percent=int(100 * limit.spent / limit.cap),
            until=limit.until,
            raised_until=moment(control.raised.until_ms) if is_raised else None,
            reason=control.raised.reason if is_raised else None,
        )


def _cells(line: BudgetLine) -> list[object]:
    digits = 0 if line.unit == "tokens" else 2
    amounts = [f"{amount:,.{digits}f}" for amount in (line.used, line.cap, line.left)]
    limit = f"{line.unit} a {line.period}"
    until, raised = written(line.until), written(line.raised_until)
    return [line.target, limit, *amounts, line.percent, until, raised, line.reason]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
