"""What cdk.json says about a target's budget: it must limit something, and be able to."""

from collections.abc import Iterator

from functions.core.settings import BudgetSettings, TargetOptions
from infrastructure.config.mistakes import Mistake
from infrastructure.config.prices import price_of


def usd_per_million_tokens(target: TargetOptions) -> float | None:
    """Return a target's own price, or that of its model; None: it is not known."""
    return target.usd_per_million_tokens or price_of(target.model)


def budget_mistakes(target: TargetOptions) -> Iterator[Mistake]:
    """Find a budget that limits nothing, cannot be counted, or lets nothing pass."""
    budget, price = target.budget, usd_per_million_tokens(target)
    if budget is None:
        return
    yield from _tenant_mistakes(budget, target.chunk_tokens)
    most: dict[str, float] = {}
    if budget.tokens_per_day is not None:
        most["tokens_per_day"] = budget.tokens_per_day
    if budget.usd_per_month is not None and price is None:
        wrong = f"needs the price of {target.model}, which is not known"
        allowed = "set the target's usd_per_million_tokens, or use tokens_per_day"
        yield Mistake(("budget", "usd_per_month"), wrong, allowed)
    elif budget.usd_per_month is not None and price is not None:
        most["usd_per_month"] = budget.usd_per_month / price * 1_000_000
    for limit, tokens in most.items():
        if tokens * (1 - budget.live_share) < target.chunk_tokens:
            wrong = f"{getattr(budget, limit):g} leaves bulk less than one chunk"
            allowed = f"more: {target.chunk_tokens} tokens (chunk_tokens) beside live_share"
            yield Mistake(("budget", limit), wrong, allowed)


def _tenant_mistakes(budget: BudgetSettings, chunk_tokens: int) -> Iterator[Mistake]:
    tokens = budget.tenant_tokens_per_day
    if tokens is None and not budget.limits_target:
        allowed = "tokens_per_day, usd_per_month or tenant_tokens_per_day"
        yield Mistake(("budget",), "limits nothing", allowed)
    if tokens is not None and tokens < chunk_tokens:
        wrong, allowed = (
            f"{tokens} is less than one chunk",
            f"at least {chunk_tokens} (chunk_tokens)",
        )
        yield Mistake(("budget", "tenant_tokens_per_day"), wrong, allowed)
