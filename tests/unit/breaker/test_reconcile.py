"""Breakers -> mappings, as tables."""

from dataclasses import replace

import pytest

from functions.breaker.reconcile import steps, switch, wanted
from functions.core.breaker import Breaker, Circuit
from functions.core.control import Control
from functions.core.failure import Part
from tests.builders import NOW_MS

QUEUES = ("bulk", "delete", "high", "normal", "sequential-orders")
ALL = set(QUEUES)
OPEN = Breaker(Circuit.OPEN, "down", NOW_MS, due_ms=NOW_MS + 30_000)
PAUSED = Breaker(Circuit.PAUSED, "moving house", NOW_MS)


def back(lanes: int) -> Breaker:
    return Breaker(Circuit.REOPENING, "a probe has passed", NOW_MS, due_ms=NOW_MS, lanes=lanes)


@pytest.mark.parametrize(
    ("provider", "index", "polled"),
    [
        pytest.param(Breaker(), Breaker(), ALL, id="all-is-well"),
        pytest.param(OPEN, Breaker(), {"delete"}, id="deletes-need-no-provider"),
        pytest.param(PAUSED, Breaker(), {"delete"}, id="paused-provider"),
        pytest.param(
            replace(OPEN, lanes=2), Breaker(), {"delete"}, id="opened-while-lanes-were-back"
        ),
        pytest.param(Breaker(), OPEN, set(), id="nothing-without-the-index"),
        pytest.param(Breaker(), PAUSED, set(), id="paused-index"),
        pytest.param(OPEN, OPEN, set(), id="both"),
        pytest.param(
            back(1), Breaker(), {"delete", "high", "sequential-orders"}, id="the-urgent-first"
        ),
        pytest.param(back(2), Breaker(), ALL - {"bulk"}, id="then-normal"),
        pytest.param(back(3), Breaker(), ALL, id="bulk-last"),
        pytest.param(Breaker(), back(1), {"delete"}, id="deletes-before-all"),
        pytest.param(Breaker(), back(2), ALL - {"bulk", "normal"}, id="index-then-the-urgent"),
        pytest.param(Breaker(), back(4), ALL, id="index-all"),
        pytest.param(back(3), back(1), {"delete"}, id="neither-may-be-against-it"),
    ],
)
def test_mappings_that_are_wanted(provider: Breaker, index: Breaker, polled: set[str]) -> None:
    """R25: one table for every state of the two breakers."""
    answer = wanted(Control(provider, index), QUEUES)

    assert {queue for queue, want in answer.items() if want} == polled
    assert set(answer) == ALL


@pytest.mark.parametrize(
    ("state", "want", "change"),
    [
        ("Enabled", True, None),
        ("Enabled", False, False),
        ("Disabled", False, None),
        ("Disabled", True, True),
        *((state, want, None) for state in ("Creating", "Updating") for want in (True, False)),
        *((state, want, None) for state in ("Enabling", "Disabling") for want in (True, False)),
        ("Deleting", True, None),
    ],
)
def test_mapping_is_switched_only_from_rest(state: str, want: bool, change: bool | None) -> None:
    """R25: AWS refuses a change of a mapping that is on its way."""
    assert switch(state, want=want) is change


def test_target_without_some_lanes_skips_their_steps() -> None:
    """R25: an empty step would only cost a minute."""
    assert wanted(Control(provider=back(1)), ["bulk", "delete"]) == {"bulk": True, "delete": True}
    assert steps(Part.PROVIDER, ["bulk", "delete"]) == [["bulk"]]


def test_deletes_come_back_with_the_index_only() -> None:
    """R25: the provider's breaker never stops them."""
    urgent = ["high", "sequential-orders"]

    assert steps(Part.PROVIDER, QUEUES) == [urgent, ["normal"], ["bulk"]]
    assert steps(Part.INDEX, QUEUES) == [["delete"], urgent, ["normal"], ["bulk"]]
