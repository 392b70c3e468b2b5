"""What a target may spend now: periods, caps, shares, and what is left."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from functions.core.budget import NANO, Budget, Caps, Cost, Limit, Raised, Spent, budget_of
from functions.core.control import Control
from tests.builders import make_target


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


NOON = at("2026-11-17T12:00")
TODAY = Spent("2026-11-17", 700, "2026-11", 5)


def budget(
    *, spent: Spent = TODAY, raised: Raised | None = None, is_live: bool = True, **settings: Any
) -> Budget:
    target = make_target(budget=settings, usd_per_million_tokens=0.02, chunk_tokens=100)
    control = Control(spent=spent, raised=raised or Raised())
    found = budget_of(target, control, now_ms=NOON, is_live=is_live)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("now", "counts"),
    [
        ("2026-11-17T23:59:59.999", TODAY),
        ("2026-11-16T23:59:59", TODAY),
        ("2026-11-18", Spent("2026-11-18", 0, "2026-11", 5)),
        ("2026-12-01", Spent("2026-12-01", 0, "2026-12", 0)),
    ],
    ids=["same day", "a clock that is behind", "next day", "next month"],
)
def test_day_and_month_end_by_utc(now: str, counts: Spent) -> None:
    """R19: what was spent counts until its day, or its month, is over."""
    assert TODAY.at(at(now)) == counts


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the machine have a zone that is hours ahead."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_zone_of_the_machine_makes_no_difference() -> None:
    """R19: there it is the next day already."""
    assert TODAY.at(at("2026-11-17T23:00")) == TODAY


@pytest.mark.parametrize("caps", [Caps(700, 5), Caps(700), Caps(nanousd=5), Caps()])
def test_cap_may_be_reached_and_not_passed(caps: Caps) -> None:
    """R19: of tokens and of dollars."""
    assert caps.allow(TODAY)
    assert caps.allow(TODAY.plus(Cost(0, 1))) is (caps.nanousd is None)
    assert caps.allow(TODAY.plus(Cost(1, 0))) is (caps.tokens is None)


def test_each_limit_has_its_unit_and_what_is_left() -> None:
    """R19: in tokens, whatever its unit is; below zero is nothing left."""
    spent = Spent("2026-01-31", 700, "2026-01", NANO // 2)

    mine = Budget(spent, Caps(600, 2 * NANO), 0.02, least_tokens=100)
    february = datetime(2026, 2, 1, tzinfo=UTC)
    assert list(mine.limits()) == [
        Limit("tokens", "day", 600, 700, 0, february),
        Limit("usd", "month", 2.0, 0.5, 75_000_000, february),
    ]
    over = Budget(spent, Caps(nanousd=1), 0.02, least_tokens=100)
    assert over.left_tokens == 0
    dear = Budget(spent, Caps(nanousd=NANO // 2), 0.000001, least_tokens=100)
    assert dear.left_tokens == 0


def test_large_request_costs_what_its_price_says() -> None:
    """R19: a billion tokens at 0.02 dollars a million."""
    assert budget(tokens_per_day=1).cost(10**9) == Cost(10**9, 20 * NANO)


def test_target_without_a_price_costs_no_dollars() -> None:
    """R19: its tokens are counted."""
    found = budget_of(make_target(budget={"tokens_per_day": 9}), Control(), now_ms=NOON)

    assert found is not None
    assert found.cost(5) == Cost(5, 0)


@pytest.mark.parametrize(
    ("raised", "nanousd"),
    [
        (Raised(NOON + 1, nanousd=3 * NANO), 3 * NANO),
        (Raised(NOON + 1, nanousd=1), 2 * NANO),
        (Raised(NOON + 1, tokens=5), 2 * NANO),
        (Raised(NOON, nanousd=3 * NANO), 2 * NANO),
    ],
)
def test_dollars_are_raised_as_tokens_are(raised: Raised, nanousd: int) -> None:
    """R19: the higher of both, until its time."""
    assert budget(usd_per_month=2, raised=raised).caps == Caps(nanousd=nanousd)


def test_target_without_a_budget_has_none() -> None:
    """R19: it pays for no write."""
    assert budget_of(make_target(), Control(), now_ms=NOON) is None


def test_bulk_leaves_the_live_share() -> None:
    """R19: of both limits."""
    settings: dict[str, Any] = {"tokens_per_day": 1000, "usd_per_month": 1, "live_share": 0.25}

    live, bulk = budget(**settings), budget(**settings, is_live=False)

    assert (live.caps.tokens, live.caps.nanousd) == (1000, NANO)
    assert (bulk.caps.tokens, bulk.caps.nanousd) == (750, 3 * NANO // 4)
    assert (live.left_tokens, bulk.left_tokens) == (300, 50)
    assert (live.is_used_up, bulk.is_used_up) == (False, True)


@pytest.mark.parametrize(
    ("raised", "left"),
    [
        (Raised(NOON + 1, tokens=5000), 4300),
        (Raised(NOON, tokens=5000), 300),
        (Raised(NOON + 1, tokens=10), 300),
        (Raised(NOON + 1, nanousd=NANO), 300),
    ],
    ids=["raised", "over", "lower than the settings", "the other limit"],
)
def test_raised_cap_holds_until_its_time(raised: Raised, left: int) -> None:
    """R19: then that of the settings is back."""
    assert budget(tokens_per_day=1000, raised=raised).left_tokens == left


def test_dollars_are_tokens_by_the_price() -> None:
    """R19: 5 of 20,000 nanodollars are spent; a token costs 20."""
    mine = budget(usd_per_month=0.01, spent=Spent("2026-11-17", 7, "2026-11", 10 * NANO // 1000))

    assert (mine.left_tokens, mine.is_used_up, mine.used_percent) == (0, True, 100)
    assert budget(usd_per_month=0.01, spent=Spent()).left_tokens == 500_000
    assert mine.cost(3) == Cost(3, 60)
    assert mine.tightest.until == datetime(2026, 12, 1, tzinfo=UTC)
    assert str(mine.tightest) == "0.01 USD a month"


def test_part_of_a_billionth_is_rounded_up() -> None:
    """R19: a price of many digits never costs too little."""
    target = make_target(budget={"usd_per_month": 1}, usd_per_million_tokens=0.0001)
    found = budget_of(target, Control(), now_ms=NOON)

    assert found is not None
    assert found.cost(11) == Cost(11, 2)
    assert found.cost(30) == Cost(30, 3)


@pytest.mark.parametrize(
    ("spent", "percent", "used_up"),
    [(0, 0, False), (799, 79, False), (800, 80, False), (900, 90, False), (901, 100, True)],
)
def test_budget_is_used_up_when_no_chunk_fits(spent: int, percent: int, used_up: bool) -> None:
    """R19: the alarm at 100 % does not wait for the last token."""
    mine = budget(tokens_per_day=1000, spent=Spent("2026-11-17", spent, "2026-11"))

    assert (mine.used_percent, mine.is_used_up) == (percent, used_up)


def test_of_two_limits_that_are_used_up_the_longer_one_is_named() -> None:
    """R19: the documents wait until the month ends."""
    spent = Spent("2026-11-17", 1000, "2026-11", NANO)

    mine = budget(tokens_per_day=1000, usd_per_month=1, spent=spent)

    assert (mine.tightest.period, str(mine.tightest)) == ("month", "1.00 USD a month")
    assert budget(tokens_per_day=1000, usd_per_month=9, spent=spent).tightest.period == "day"
