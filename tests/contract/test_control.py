"""The control port: what all workers of a target share changes for one of them at a time."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from functions.adapters.dynamodb_control import DynamoDbControl
from functions.core.breaker import Breaker, Circuit
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
