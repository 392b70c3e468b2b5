"""The control port: what all workers of a target share changes for one of them at a time."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from functions.adapters.dynamodb_control import DynamoDbControl
from functions.core.breaker import Breaker, Circuit
from functions.core.budget import Caps, Cost, Raised, Spent
from functions.core.control import Control, Cooldown
from functions.core.failure import FailureError, FailureKind, Part
from functions.core.ports import ControlStore
from local.memory.control import MemoryControl
from tests.builders import NOW_MS, make_row
from tests.contract.engines import real
from tests.contract.ledger_engines import LedgerTable, ledger_table

OPEN = Breaker(Circuit.OPEN, "it is down", NOW_MS, probes=2, due_ms=NOW_MS + 30_000)


@pytest.fixture(params=["memory", "moto", real("dynamodb-local")])
def control(request: pytest.FixtureRequest) -> Iterator[ControlStore]:
    if request.param == "memory":
        yield MemoryControl()
    else:
        with ledger_table(request, request.param) as table:
            yield DynamoDbControl(table.client, table.name)


@pytest.fixture
def table(request: pytest.FixtureRequest) -> Iterator[LedgerTable]:
    with ledger_table(request, "moto") as table:
        yield table


def test_target_without_trouble_has_an_untroubled_item(control: ControlStore) -> None:
    """R25: nothing has to be created first."""
    assert control.read("default") == Control()


def test_counts_of_a_window_add_up(control: ControlStore) -> None:
    """R25: each worker adds its run; the parts of a target are counted apart."""
    control.count("default", Part.PROVIDER, window_ms=1000, successes=3, failures=1)
    control.count("default", Part.INDEX, window_ms=1000, successes=9, failures=9)

    counted = control.count("default", Part.PROVIDER, window_ms=1000, successes=0, failures=4)

    assert counted == Breaker(window_ms=1000, successes=3, failures=5)
    assert control.read("default") == Control(
        provider=counted, index=Breaker(window_ms=1000, successes=9, failures=9)
    )


def test_new_window_starts_at_zero_and_drops_what_comes_late(control: ControlStore) -> None:
    """R25: failures of the last minute do not open a breaker in this one."""
    control.count("default", Part.INDEX, window_ms=1000, successes=0, failures=50)

    newer = control.count("default", Part.INDEX, window_ms=2000, successes=1, failures=2)
    late = control.count("default", Part.INDEX, window_ms=1000, successes=0, failures=7)

    assert newer == late == Breaker(window_ms=2000, successes=1, failures=2)


def test_state_changes_once_and_keeps_the_counts(control: ControlStore) -> None:
    """R25: of two workers that open a breaker, one does."""
    control.count("default", Part.PROVIDER, window_ms=1000, successes=1, failures=9)
    before = control.read("default").provider

    won = control.swap("default", Part.PROVIDER, before, OPEN)
    lost = control.swap("default", Part.PROVIDER, before, replace(OPEN, reason="another"))

    assert (won, lost) == (True, False)
    assert control.read("default") == Control(
        provider=replace(OPEN, window_ms=1000, successes=1, failures=9)
    )


@pytest.mark.parametrize(
    "after",
    [
        replace(OPEN, probes=3, due_ms=OPEN.due_ms + 60_000),
        replace(OPEN, state=Circuit.PAUSED, since_ms=NOW_MS + 1, is_logged=False),
        replace(OPEN, state=Circuit.REOPENING, since_ms=NOW_MS + 2, lanes=1),
        replace(OPEN, state=Circuit.CLOSED, reason="", since_ms=NOW_MS + 3, due_ms=0),
    ],
    ids=lambda after: f"{after.state}-{after.probes}",
)
def test_changed_state_is_changed_again_only_from_where_it_is(
    control: ControlStore, after: Breaker
) -> None:
    """R25: two runs of the breaker function, or a person, do not undo each other's step."""
    control.swap("default", Part.INDEX, Breaker(), OPEN)

    won = control.swap("default", Part.INDEX, OPEN, after)
    again = control.swap("default", Part.INDEX, OPEN, after)
    back = control.swap("default", Part.INDEX, after, OPEN)

    assert (won, again, back) == (True, False, True)
    assert control.read("default").index == OPEN


def test_note_that_a_change_was_logged_is_a_change_of_its_own(control: ControlStore) -> None:
    """R25: a person's change is logged by the function that carries it out."""
    mine = replace(OPEN, state=Circuit.PAUSED, is_logged=False)
    control.swap("default", Part.PROVIDER, Breaker(), mine)

    assert control.swap("default", Part.PROVIDER, mine, replace(mine, is_logged=True))
    assert control.read("default").provider == replace(mine, is_logged=True)


def test_throttles_at_the_same_time_count_as_one(control: ControlStore) -> None:
    """R23: ten workers that are throttled together do not wait ten times as long."""
    first = control.cool("default", until_ms=5000, after=0)
    shorter = control.cool("default", until_ms=4000, after=0)
    longer = control.cool("default", until_ms=9000, after=0)

    assert first == shorter == Cooldown(until_ms=5000, throttles=1)
    assert longer == control.read("default").cooldown == Cooldown(until_ms=9000, throttles=1)


def test_one_worker_asks_after_a_cooldown(control: ControlStore) -> None:
    """R23: nobody before its time, then one, and another only when that one is overdue."""
    control.cool("default", until_ms=5000, after=0)

    early = control.claim("default", now_ms=4999, until_ms=8000)
    won = control.claim("default", now_ms=5000, until_ms=8000)
    second = control.claim("default", now_ms=7999, until_ms=9000)
    overdue = control.claim("default", now_ms=8000, until_ms=9000)

    assert (early, won, second, overdue) == (False, True, False, True)
    assert control.read("default").cooldown == Cooldown(5000, 1, claimed_until_ms=9000)


def test_throttled_claim_makes_the_cooldown_longer(control: ControlStore) -> None:
    """R23: the next one may ask after it."""
    control.cool("default", until_ms=5000, after=0)
    control.claim("default", now_ms=5000, until_ms=8000)

    control.cool("default", until_ms=7000, after=1)

    assert control.read("default").cooldown == Cooldown(until_ms=7000, throttles=2)
    assert control.claim("default", now_ms=7000, until_ms=9000)


def test_passed_request_ends_the_cooldown(control: ControlStore) -> None:
    """R23: and there is nothing left to claim."""
    control.cool("default", until_ms=5000, after=0)
    control.claim("default", now_ms=5000, until_ms=8000)

    control.warm("default", after=1)

    assert control.read("default") == Control()
    assert not control.claim("default", now_ms=9000, until_ms=9999)


def test_late_pass_does_not_end_a_newer_cooldown(control: ControlStore) -> None:
    """R23: the provider has changed its mind since."""
    control.cool("default", until_ms=5000, after=0)
    newer = control.cool("default", until_ms=7000, after=1)

    control.warm("default", after=1)

    assert control.read("default").cooldown == newer == Cooldown(until_ms=7000, throttles=2)


def test_throttle_after_the_end_of_its_cooldown_starts_another(control: ControlStore) -> None:
    """R23: however many its sender knew of."""
    assert control.cool("default", until_ms=5000, after=7) == Cooldown(5000, throttles=1)


def test_targets_are_apart(control: ControlStore) -> None:
    """R25 R81: one target's bad provider never stops another's."""
    control.swap("one", Part.PROVIDER, Breaker(), OPEN)
    control.cool("one", until_ms=5000, after=0)

    assert control.read("two") == Control()


def test_unreadable_item_is_a_failure_that_charges_nobody(table: LedgerTable) -> None:
    """R25: whether the store is away or the item is not ours."""
    item = {"row_key": {"S": "control/default"}, "provider_state": {"S": "ajar"}}
    table.client.put_item(TableName=table.name, Item=item)

    with pytest.raises(FailureError) as strange:
        DynamoDbControl(table.client, table.name).read("default")
    with pytest.raises(FailureError) as away:
        DynamoDbControl(table.client, "nowhere").read("default")

    assert strange.value.failure.kind is FailureKind.STORE_UNAVAILABLE
    assert away.value.failure.kind is FailureKind.STORE_UNAVAILABLE


def test_item_is_neither_a_row_nor_listed(table: LedgerTable) -> None:
    """R31: the sweep never meets it."""
    control = DynamoDbControl(table.client, table.name)
    control.swap("default", Part.PROVIDER, Breaker(), OPEN)
    table.ledger.write([make_row(revision=0)])

    assert table.client.scan(TableName=table.name, IndexName="open")["Count"] == 1


def test_index_is_noted_over_the_one_that_was_known(control: ControlStore) -> None:
    """R12: of two that found another index, the one that read an older state changes nothing."""
    control.count("default", Part.INDEX, window_ms=1000, successes=1, failures=0)

    assert control.note_index("default", before="", after="one")
    assert not control.note_index("default", before="", after="two")
    assert not control.note_index("default", before="other", after="two")
    assert control.read("default").index_uuid == "one"
    assert control.note_index("default", before="one", after="two")

    assert control.read("default") == Control(
        index=Breaker(window_ms=1000, successes=1), index_uuid="two"
    )


DAY_MS = 24 * 3_600_000
# 2023-11-14, the day of NOW_MS.
TODAY, TOMORROW, NEXT_MONTH = NOW_MS, NOW_MS + DAY_MS, NOW_MS + 17 * DAY_MS
CAPS = Caps(tokens=100, nanousd=1000)


def reserve(
    control: ControlStore, tokens: int, *, now_ms: int = TODAY, caps: Caps = CAPS
) -> Spent | None:
    before = control.read("default").spent
    return control.reserve("default", before, Cost(tokens, tokens * 2), caps, now_ms=now_ms)


def test_reservations_add_up_to_the_cap_and_not_above(control: ControlStore) -> None:
    """R19: a request that does not fit is not counted; a smaller one that fits is."""
    assert reserve(control, 60) == Spent("2023-11-14", 60, "2023-11", 120)
    assert reserve(control, 41) is None
    assert reserve(control, 40) == Spent("2023-11-14", 100, "2023-11", 200)
    assert reserve(control, 1) is None

    assert control.read("default").spent == Spent("2023-11-14", 100, "2023-11", 200)


def test_dollars_of_the_month_hold_over_its_days(control: ControlStore) -> None:
    """R19: tokens begin anew each day, dollars each month, in the write that reserves."""
    caps = Caps(nanousd=100)

    assert reserve(control, 40, caps=caps) == Spent("2023-11-14", 40, "2023-11", 80)
    assert reserve(control, 11, caps=caps, now_ms=TOMORROW) is None
    assert reserve(control, 10, caps=caps, now_ms=TOMORROW) == Spent(
        "2023-11-15", 10, "2023-11", 100
    )
    assert reserve(control, 50, caps=caps, now_ms=NEXT_MONTH) == Spent(
        "2023-12-01", 50, "2023-12", 100
    )


def test_request_above_an_empty_budget_is_refused_on_a_new_day(control: ControlStore) -> None:
    """R19: the first of a day is not free of the cap."""
    assert reserve(control, 101) is None
    assert reserve(control, 501, caps=Caps(nanousd=1000)) is None
    assert control.read("default").spent == Spent()


def test_no_cap_counts_all_the_same(control: ControlStore) -> None:
    """R19: the tokens of a day are shown, even where only dollars are limited."""
    assert reserve(control, 10**9, caps=Caps()) == Spent("2023-11-14", 10**9, "2023-11", 2 * 10**9)


def test_worker_that_read_an_older_day_adds_to_the_one_that_has_begun(
    control: ControlStore,
) -> None:
    """R19: of many that begin a day or a month, one does, and the others keep to its cap."""
    old = reserve(control, 90)
    assert old is not None
    reserve(control, 70, now_ms=TOMORROW)

    late = control.reserve("default", old, Cost(31, 62), CAPS, now_ms=TOMORROW)
    fits = control.reserve("default", old, Cost(30, 60), CAPS, now_ms=TOMORROW)
    unread = control.reserve("default", Spent(), Cost(1, 2), CAPS, now_ms=TOMORROW)

    assert (late, unread) == (None, None)
    assert fits == Spent("2023-11-15", 100, "2023-11", 380)


def test_clock_that_is_behind_adds_to_the_newer_day(control: ControlStore) -> None:
    """R19 R36: and never begins the older one again."""
    reserve(control, 70, now_ms=TOMORROW)

    assert reserve(control, 31, now_ms=TODAY) is None
    assert reserve(control, 30, now_ms=TODAY) == Spent("2023-11-15", 100, "2023-11", 200)


def test_settling_adds_the_difference(control: ControlStore) -> None:
    """R19: what was estimated too high can be spent again."""
    reserved = reserve(control, 100)
    assert reserved is not None

    control.settle("default", reserved, Cost(-30, -60))

    assert reserve(control, 30) == Spent("2023-11-14", 100, "2023-11", 200)


def test_settling_after_midnight_gives_the_new_day_nothing(control: ControlStore) -> None:
    """R19: of the tokens of a day, and of the dollars of a month, that is over."""
    reserved = reserve(control, 100)
    assert reserved is not None
    reserve(control, 10, now_ms=TOMORROW)

    control.settle("default", reserved, Cost(-100, -200))
    assert control.read("default").spent == Spent("2023-11-15", 10, "2023-11", 20)

    reserve(control, 10, now_ms=NEXT_MONTH)
    control.settle("default", reserved, Cost(-100, -200))
    assert control.read("default").spent == Spent("2023-12-01", 10, "2023-12", 20)


def test_budget_is_raised_from_where_it_is(control: ControlStore) -> None:
    """R19: of two people at once, one does; the reason stays."""
    first = Raised(NOW_MS + 1000, 500, 0, "a reload", NOW_MS, is_logged=False)
    other = Raised(NOW_MS + 9000, 0, 700, "another", NOW_MS + 5, is_logged=False)

    assert control.raise_budget("default", Raised(), first)
    assert not control.raise_budget("default", Raised(), other)
    assert control.raise_budget("default", first, replace(first, is_logged=True))
    assert control.read("default").raised == replace(first, is_logged=True)
    assert control.raise_budget("default", first, other)
    assert control.read("default") == Control(raised=other)
