"""A provider that is down for an hour, with workers, breaker and mappings on simulated time."""

import random
from collections.abc import Sequence

from functions.breaker.process import Reconcile
from functions.core.breaker import Circuit
from functions.core.failure import Failure, FailureError, FailureKind, Part
from functions.core.ports import HARMLESS
from functions.core.settings import BreakerTarget
from local.memory.control import MemoryMappings
from tests.unit.embed.guard.fleet import Fleet, Provider, SimulatedTime

HOUR = 3600.0
DOWN = Failure(FailureKind.PROVIDER_ERROR, "the provider answered 503")


class Asking:
    """A prober that asks the provider, as embed does."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.asked = 0

    def probe(self, function: str, parts: Sequence[Part]) -> dict[Part, str | None] | None:
        assert function == "embed"
        self.asked += 1
        try:
            self._provider.embed([HARMLESS], timeout_seconds=20.0)
        except FailureError as error:
            return dict.fromkeys(parts, str(error))
        return dict.fromkeys(parts, None)


def test_hour_of_outage_burns_no_receives() -> None:
    """R25: while the breaker is open nothing is received; afterwards everything completes."""
    time = SimulatedTime()
    provider = Provider(time, lambda now: DOWN if now < HOUR else None)
    fleet = Fleet(time, provider, documents=1000, workers=10)
    mappings = MemoryMappings(time, settle_seconds=20)
    prober = Asking(provider)
    targets = [BreakerTarget(name="default", embed_function="embed", mappings={"normal": "normal"})]
    chance = random.Random(7).random
    step = Reconcile(fleet.control, mappings, prober, fleet.telemetry, time, chance, targets)
    receives: list[int] = []

    def each_minute() -> None:
        while not fleet.is_done:
            step.run(lambda: 120.0)
            if fleet.control.read("default").provider.state is Circuit.OPEN:
                receives.append(fleet.receives)
            time.wait(60)

    time.run([each_minute, lambda: _poll(fleet, mappings, time), *fleet.bodies()])

    asked = [at for at in provider.asked_at if at < HOUR]
    assert len(fleet.done) == 1000
    # The runs that had begun before the mapping was off come to their end within two minutes.
    assert len(receives) > 50
    assert len(set(receives[3:])) == 1
    assert len(asked) - prober.asked <= 40
    assert max(one.attempts for one in fleet.done) <= 2
    assert time.seconds < HOUR + 600


def _poll(fleet: Fleet, mappings: MemoryMappings, time: SimulatedTime) -> None:
    """Poll as the mapping's state has it."""
    while not fleet.is_done:
        fleet.is_polled = "normal" not in mappings.disabled
        time.wait(5.0)
