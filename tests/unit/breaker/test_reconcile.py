"""Breakers -> mappings, as tables."""

from dataclasses import replace

import pytest

from functions.breaker.reconcile import advance, after_probe, needs_probe, switch, wanted
from functions.core.control import Breaker, Circuit, Control
from functions.core.failure import Part
from functions.core.settings import BreakerSettings
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


@pytest.mark.parametrize(
    ("breaker", "due"),
    [
        (replace(OPEN, due_ms=NOW_MS), True),
        (replace(OPEN, due_ms=NOW_MS + 1), False),
        (PAUSED, False),
        (back(1), False),
        (Breaker(), False),
    ],
    ids=["due", "not-yet", "paused", "reopening", "closed"],
)
def test_probe_is_sent_only_when_it_is_due(breaker: Breaker, due: bool) -> None:
    """R25: a person's pause is never probed away."""
    assert needs_probe(breaker, now_ms=NOW_MS) is due


@pytest.mark.parametrize(("probes", "seconds"), [(0, 60), (1, 120), (2, 300), (9, 300)])
@pytest.mark.parametrize("jitter", [0.0, 0.99])
def test_failed_probe_waits_longer_each_time(probes: int, seconds: int, jitter: float) -> None:
    """R25: in steps, the last one repeating, a tenth of it random."""
    after = after_probe(
        replace(OPEN, probes=probes),
        "timeout: no answer",
        now_ms=NOW_MS,
        settings=BreakerSettings(),
        jitter=jitter,
    )

    assert (after.state, after.reason, after.probes, after.since_ms) == (
        Circuit.OPEN,
        "timeout: no answer",
        probes + 1,
        OPEN.since_ms,
    )
    assert after.due_ms == pytest.approx(NOW_MS + seconds * 1000 * (1 - 0.1 * jitter), abs=1)


def test_passed_probe_lets_the_first_lanes_back() -> None:
    """R25: and begins a new state, so that old failures do not count in it."""
    after = after_probe(
        replace(OPEN, probes=3),
        None,
        now_ms=NOW_MS + 9,
        settings=BreakerSettings(),
        jitter=0.5,
    )

    assert after == Breaker(
        Circuit.REOPENING,
        "a probe has passed",
        NOW_MS + 9,
        probes=3,
        due_ms=NOW_MS + 9 + 60_000,
        lanes=1,
    )


@pytest.mark.parametrize(("part", "steps"), [(Part.PROVIDER, 3), (Part.INDEX, 4)])
def test_lanes_come_back_step_by_step(part: Part, steps: int) -> None:
    """R25: each after its time, and when all are back for a while, it is closed."""
    breaker, now_ms, seen = back(1), NOW_MS, [1]
    while breaker.state is Circuit.REOPENING:
        early = advance(
            breaker, part, QUEUES, now_ms=breaker.due_ms - 1, settings=BreakerSettings(), jitter=0.0
        )
        assert early == breaker
        now_ms = breaker.due_ms
        breaker = advance(
            breaker, part, QUEUES, now_ms=now_ms, settings=BreakerSettings(), jitter=0.0
        )
        seen.append(breaker.lanes)

    assert seen == [*range(1, steps + 1), 0]
    assert breaker == Breaker(Circuit.CLOSED, "all lanes are back", now_ms)


def test_target_without_some_lanes_skips_their_steps() -> None:
    """R25: an empty step would only cost a minute."""
    assert wanted(Control(provider=back(1)), ["bulk", "delete"]) == {"bulk": True, "delete": True}
    after = advance(
        back(1),
        Part.PROVIDER,
        ["bulk", "delete"],
        now_ms=NOW_MS,
        settings=BreakerSettings(),
        jitter=0,
    )
    assert after.state is Circuit.CLOSED


@pytest.mark.parametrize("breaker", [Breaker(), OPEN, PAUSED], ids=lambda b: str(b.state))
def test_only_a_reopening_breaker_advances(breaker: Breaker) -> None:
    """R25: the others wait for a failure, a probe or a person."""
    later_ms = NOW_MS + 10_000_000

    assert (
        advance(breaker, Part.INDEX, QUEUES, now_ms=later_ms, settings=BreakerSettings(), jitter=0)
        == breaker
    )
