"""A target's budget: what it may spend in a day and in a month, and what it has spent. Pure.

Each request is reserved before it is sent, by its estimate, and settled after its answer. A
worker that is killed between the two leaves its estimate counted: the error is on the safe side.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING

from functions.core.settings import BudgetSettings, TargetSettings

if TYPE_CHECKING:
    from functions.core.control import Control

# Dollars are counted in billionths: whole numbers add up exactly.
NANO = 1_000_000_000
FULL_PERCENT = 100


@dataclass(frozen=True)
class Cost:
    """What a request costs, or the difference between two costs."""

    tokens: int = 0
    nanousd: int = 0

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(self.tokens - other.tokens, self.nanousd - other.nanousd)


@dataclass(frozen=True)
class Spent:
    """What was spent on a day and in a month, by UTC: 2026-11-17 and 2026-11."""

    day: str = ""
    tokens: int = 0
    month: str = ""
    nanousd: int = 0

    def at(self, now_ms: int) -> "Spent":
        """Return what counts now: nothing of a day or a month that is over.

        A clock that is behind adds to what a faster one has begun.
        """
        day = datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
        month = day[:7]
        if self.month < month:
            return Spent(day=day, month=month)
        return replace(self, day=day, tokens=0) if self.day < day else self

    def plus(self, cost: Cost) -> "Spent":
        tokens, nanousd = self.tokens + cost.tokens, self.nanousd + cost.nanousd
        return replace(self, tokens=tokens, nanousd=nanousd)


@dataclass(frozen=True)
class Caps:
    """The most that may be spent, of tokens in a day and of dollars in a month; None: any."""

    tokens: int | None = None
    nanousd: int | None = None

    def allow(self, spent: Spent) -> bool:
        return (self.tokens is None or spent.tokens <= self.tokens) and (
            self.nanousd is None or spent.nanousd <= self.nanousd
        )

    def share(self, part: float) -> "Caps":
        return Caps(
            *(None if cap is None else int(cap * part) for cap in (self.tokens, self.nanousd))
        )


@dataclass(frozen=True)
class Raised:
    """Higher caps that a person has set until a time, and why; 0: as in the settings."""

    until_ms: int = 0
    tokens: int = 0
    nanousd: int = 0
    reason: str = ""
    since_ms: int = 0
    is_logged: bool = True  # False: the sweep logs it


NOTHING_SPENT = Spent()
NOT_RAISED = Raised()


@dataclass(frozen=True)
class Limit:
    """One of the two limits of a budget, at one moment."""

    unit: str  # tokens or usd
    period: str  # day or month
    cap: float
    spent: float
    left_tokens: int
    until: datetime  # when its period ends

    def __str__(self) -> str:
        cap = f"{self.cap:,.0f} tokens" if self.unit == "tokens" else f"{self.cap:,.2f} USD"
        return f"{cap} a {self.period}"


@dataclass(frozen=True)
class Budget:
    """What a target may spend now, in the lanes that it was asked for."""

    spent: Spent
    caps: Caps
    usd_per_million_tokens: float
    least_tokens: int  # with less than this left, no request can be sent

    def cost(self, tokens: int) -> Cost:
        # Rounded first: 0.1 + 0.2 of a float is above three tenths.
        nanousd = ceil(round(tokens * self.usd_per_million_tokens * NANO / 1_000_000, 3))
        return Cost(tokens, nanousd)

    def limits(self) -> Iterator[Limit]:
        """Yield each limit that the budget has."""
        day = datetime.fromisoformat(self.spent.day).replace(tzinfo=UTC)
        if self.caps.tokens is not None:
            cap, spent = self.caps.tokens, self.spent.tokens
            until = day + timedelta(days=1)
            yield Limit("tokens", "day", cap, spent, max(cap - spent, 0), until)
        if self.caps.nanousd is not None:
            cap, spent = self.caps.nanousd, self.spent.nanousd
            until = (day.replace(day=1) + timedelta(days=31)).replace(day=1)
            left = int(max(cap - spent, 0) * 1_000_000 / (self.usd_per_million_tokens * NANO))
            yield Limit("usd", "month", cap / NANO, spent / NANO, left, until)

    @property
    def left_tokens(self) -> int:
        return min(limit.left_tokens for limit in self.limits())

    @property
    def is_used_up(self) -> bool:
        return self.left_tokens < self.least_tokens

    @property
    def used_percent(self) -> int:
        """Return how much is used: 100 as soon as no request fits."""
        if self.is_used_up:
            return FULL_PERCENT
        return max(int(FULL_PERCENT * limit.spent / limit.cap) for limit in self.limits())

    @property
    def tightest(self) -> Limit:
        """Return the limit that has the least left; of two that are used up, the longer one."""
        return min(
            self.limits(),
            key=lambda limit: (max(limit.left_tokens, self.least_tokens), -limit.until.timestamp()),
        )


def budget_of(
    target: TargetSettings, control: "Control", *, now_ms: int, is_live: bool = True
) -> Budget | None:
    """Return what a target may spend now; None: it has no budget. Bulk leaves the live share."""
    settings = target.budget
    if settings is None or not settings.limits_target:
        return None
    caps = caps_of(settings, control.raised, now_ms=now_ms)
    return Budget(
        spent=control.spent.at(now_ms),
        caps=caps if is_live else caps.share(1 - settings.live_share),
        usd_per_million_tokens=target.usd_per_million_tokens or 0.0,
        least_tokens=target.chunk_tokens,
    )


def caps_of(settings: BudgetSettings, raised: Raised, *, now_ms: int) -> Caps:
    """Return the caps of the settings, or higher ones while they are raised."""
    tokens, usd = settings.tokens_per_day, settings.usd_per_month
    caps = Caps(tokens, None if usd is None else round(usd * NANO))
    if raised.until_ms <= now_ms:
        return caps
    return Caps(
        None if caps.tokens is None else max(caps.tokens, raised.tokens),
        None if caps.nanousd is None else max(caps.nanousd, raised.nanousd),
    )
