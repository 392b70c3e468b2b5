"""The breaker function's run: mappings follow breakers, whatever has moved either of them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from functions.breaker.process import Reconcile
from functions.core.breaker import Breaker, Circuit, paused
from functions.core.control import Control
from functions.core.failure import Failure, FailureError, FailureKind, Part
from functions.core.settings import BreakerTarget
from local.memory.control import MemoryControl, MemoryMappings
from local.memory.runtime import MemoryTelemetry, MovableClock
from tests.builders import NOW_MS

QUEUES = ("high", "normal", "bulk", "delete")
OPEN = Breaker(Circuit.OPEN, "down", NOW_MS, due_ms=NOW_MS + 30_000)
CLOSED = Breaker()
DUE = replace(OPEN, due_ms=NOW_MS)


class Probed:
    """A prober with one answer for every part."""

    def __init__(self) -> None:
        self.failure: str | None = None
        self.is_busy = False
        self.asked: list[tuple[str, list[Part]]] = []

    def probe(self, function: str, parts: Sequence[Part]) -> dict[Part, str | None] | None:
        self.asked.append((function, list(parts)))
        return None if self.is_busy else dict.fromkeys(parts, self.failure)


class World:
    """Two targets, and what the breaker function does to them."""

    def __init__(self, settle_seconds: float = 0) -> None:
        self.clock = MovableClock(NOW_MS)
        self.control = MemoryControl()
        self.telemetry = MemoryTelemetry()
        self.prober = Probed()
        targets = [
            BreakerTarget(
                name=name,
                embed_function=f"embed-{name}",
                mappings={queue: f"{name}/{queue}" for queue in QUEUES},
            )
            for name in ("one", "two")
        ]
        self.mappings = MemoryMappings(self.clock, settle_seconds=settle_seconds)
        self.step = Reconcile(
            self.control,
            self.mappings,
            self.prober,
            self.telemetry,
            self.clock,
            lambda: 0.4,
            targets,
        )

    def tick(self, seconds_left: float = 120.0) -> None:
        self.step.run(lambda: seconds_left)
        self.clock.advance(60)

    def put(self, target: str, *, provider: Breaker = CLOSED, index: Breaker = CLOSED) -> None:
        self.control.items[target] = Control(provider, index)

    def provider(self, target: str = "one") -> Breaker:
        return self.control.read(target).provider

    def polled(self, target: str) -> set[str]:
        return {q for q in QUEUES if f"{target}/{q}" not in self.mappings.disabled}

    def events(self) -> list[str]:
        return [name for name, _ in self.telemetry.events]


@pytest.fixture
def world() -> World:
    return World()


def test_healthy_targets_are_left_alone(world: World) -> None:
    """R25: nothing is switched, probed or written."""
    world.tick()

    assert world.polled("one") == world.polled("two") == set(QUEUES)
    assert (world.control.items, world.prober.asked, world.telemetry.events) == ({}, [], [])


def test_open_provider_pauses_one_target_and_no_deletes(world: World) -> None:
    """R25: no receives are burnt, and another target's provider is none of its business."""
    world.put("one", provider=OPEN)

    world.tick()

    assert world.polled("one") == {"delete"}
    assert world.polled("two") == set(QUEUES)
    assert world.telemetry.metrics["BreakerOpen"] == 1
    assert world.telemetry.metrics["MappingsSwitched"] == 3


def test_open_index_pauses_deletes_too(world: World) -> None:
    """R25: there is nowhere to write them."""
    world.put("one", index=OPEN)

    world.tick()

    assert world.polled("one") == set()


def test_lanes_come_back_one_by_one_after_a_probe(world: World) -> None:
    """R25: the first at once; each step is a minute, and each change is logged."""
    world.put("one", provider=DUE)
    seen = []
    for _ in range(6):
        world.tick()
        seen.append(world.polled("one") - {"delete"})

    assert seen == [
        {"high"},
        {"high", "normal"},
        {"high", "normal", "bulk"},
        {"high", "normal", "bulk"},
        {"high", "normal", "bulk"},
        {"high", "normal", "bulk"},
    ]
    assert world.prober.asked == [("embed-one", [Part.PROVIDER])]
    assert world.provider().state is Circuit.CLOSED
    assert [name for name in world.events() if name.startswith("breaker")] == [
        "breaker_reopening",
        "breaker_closed",
    ]
    assert world.telemetry.metrics["BreakerTransitions"] == 2


def test_short_run_probes_in_its_second_half_too(world: World) -> None:
    """R25: on one machine the function has less than a minute."""
    world.put("one", provider=DUE)

    world.tick(seconds_left=40.0)

    assert len(world.prober.asked) == 1


@pytest.mark.parametrize(("left", "probes"), [(60.0, 1), (59.9, 0)])
def test_probe_is_sent_only_with_the_time_for_it(world: World, left: float, probes: int) -> None:
    """R25: a minute of a long run; else the next one sends it."""
    world.put("one", provider=DUE)
    time = iter([300.0])

    world.step.run(lambda: next(time, left))

    assert len(world.prober.asked) == probes


def test_failed_probe_is_told_and_tried_again_later(world: World) -> None:
    """R25: one canary at a time, less and less often: 13 of them in an hour."""
    world.put("one", provider=OPEN)
    world.prober.failure = "timeout: no answer"

    for _ in range(60):
        world.tick()

    assert 10 <= len(world.prober.asked) <= 15
    assert world.provider().reason == "timeout: no answer"
    assert world.provider().since_ms == NOW_MS
    assert world.telemetry.metrics["ProbesFailed"] == len(world.prober.asked)
    assert world.polled("one") == {"delete"}


def test_both_parts_are_probed_in_one_call(world: World) -> None:
    """R25: one canary through embed itself."""
    world.put("two", provider=DUE, index=DUE)

    world.tick()

    assert world.prober.asked == [("embed-two", [Part.PROVIDER, Part.INDEX])]
    assert world.polled("two") == {"delete"}


def test_probe_that_nobody_could_take_is_sent_again_in_a_minute(world: World) -> None:
    """R25: it says nothing about the provider."""
    world.put("one", provider=DUE)
    world.prober.is_busy = True
    world.tick()
    standing = world.provider()

    world.tick()

    assert standing == DUE
    assert len(world.prober.asked) == 2
    assert "probe_not_sent" in world.events()


def test_probe_is_not_begun_without_the_time_for_it(world: World) -> None:
    """R25: lanes are paused first, of all targets; a probe can wait."""
    world.put("one", provider=DUE)
    world.put("two", provider=OPEN)
    left = iter([120.0])

    world.step.run(lambda: next(left, 50.0))

    assert world.prober.asked == []
    assert world.polled("one") == world.polled("two") == {"delete"}


def test_pause_by_a_person_is_told_and_never_probed(world: World) -> None:
    """R25: by one event, with its reason; only a person ends it."""
    world.put("one", provider=paused(Breaker(), reason="moving house", now_ms=NOW_MS))

    for _ in range(30):
        world.tick()

    logged = [fields for name, fields in world.telemetry.events if name == "breaker_paused"]
    assert logged == [{"target": "one", "part": "provider", "reason": "moving house"}]
    assert world.prober.asked == []
    assert world.polled("one") == {"delete"}


def test_unreadable_item_moves_nothing(world: World) -> None:
    """R25: neither a pause nor a release is guessed; it is counted."""
    world.put("one", provider=OPEN)
    world.tick()
    world.control.is_down = True

    world.tick()

    assert world.polled("one") == {"delete"}
    assert world.polled("two") == set(QUEUES)
    assert world.events().count("control_unreadable") == 2
    assert world.telemetry.metrics["ControlUnreadable"] == 2


def test_mapping_that_a_deploy_switched_on_goes_off_again(world: World) -> None:
    """R25: wanted and actual state converge, whoever moved it."""
    world.put("one", provider=OPEN)
    world.prober.is_busy = True
    world.tick()
    world.mappings.switch("one/bulk", enabled=True)
    world.mappings.switch("two/high", enabled=False)

    world.tick()

    assert world.polled("one") == {"delete"}
    assert world.polled("two") == set(QUEUES)
    switched = [line for line in world.telemetry.events if line[0].startswith("mapping")]
    assert switched[-2:] == [
        ("mapping_disabled", {"target": "one", "queue": "bulk", "mapping": "one/bulk"}),
        ("mapping_enabled", {"target": "two", "queue": "high", "mapping": "two/high"}),
    ]


def test_mapping_on_its_way_is_left_alone() -> None:
    """R25: Enabling and Disabling take their time; the next minute will do."""
    world = World(settle_seconds=90)
    world.put("one", provider=OPEN)
    world.tick()
    world.put("one")

    world.tick()
    logged_halfway = world.events()
    world.tick()

    assert "mapping_enabled" not in logged_halfway
    assert world.events().count("mapping_enabled") == 3
    world.tick()
    assert world.polled("one") == set(QUEUES)


def test_mapping_that_cannot_be_switched_holds_nobody_up(world: World) -> None:
    """R25: the others are paused all the same."""

    class Stubborn(MemoryMappings):
        def state(self, mapping: str) -> str:
            if mapping == "one/high":
                raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "no answer"))
            return super().state(mapping)

    stubborn = Stubborn(world.clock)
    world.put("one", provider=OPEN)
    world.put("two", provider=OPEN)

    replace(world.step, mappings=stubborn).run(lambda: 120.0)

    assert stubborn.disabled == {
        "one/normal",
        "one/bulk",
        "two/high",
        "two/normal",
        "two/bulk",
    }
    assert world.telemetry.metrics["ReconcileFailures"] == 1


def test_change_of_another_meanwhile_is_not_undone(world: World) -> None:
    """R25: a person pauses while the probe is on its way; the pause stands."""
    world.put("one", provider=DUE)
    by_hand = paused(DUE, reason="moving house", now_ms=NOW_MS + 1)

    class Slow(Probed):
        def probe(self, function: str, parts: Sequence[Part]) -> dict[Part, str | None] | None:
            world.put("one", provider=by_hand)
            return super().probe(function, parts)

    replace(world.step, prober=Slow()).run(lambda: 120.0)

    assert world.provider() == by_hand
    assert "breaker_reopening" not in world.events()
