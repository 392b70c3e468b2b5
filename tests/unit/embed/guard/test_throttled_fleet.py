"""Many workers under a provider that answers 429: they wait together, and one asks."""

from itertools import pairwise

import pytest

from functions.core.control import Control
from functions.core.failure import Failure, FailureKind
from tests.unit.embed.guard.fleet import Fleet, Provider, SimulatedTime

OUTAGE_SECONDS = 120.0
RATE = 5.0  # requests a second that the provider takes afterwards
DOCUMENTS = 3000
IDEAL_SECONDS = DOCUMENTS / 10 / RATE


def throttling(retry_after: float | None) -> Provider:
    """Make a provider that throttles everything for two minutes."""
    failure = Failure(FailureKind.THROTTLED, "the provider answered 429", retry_after)
    return Provider(SimulatedTime(), lambda now: failure if now < OUTAGE_SECONDS else None, RATE)


@pytest.mark.parametrize("workers", [1, 10, 40])
@pytest.mark.parametrize("retry_after", [None, 1.0, 20.0, 60.0])
def test_two_minutes_of_429_cost_nothing(workers: int, retry_after: float | None) -> None:
    """R23: no attempt spent, hardly a request sent, and the backlog drains as fast as it may."""
    provider = throttling(retry_after)
    fleet = Fleet(provider.time, provider, documents=DOCUMENTS, workers=workers)

    provider.time.run(fleet.bodies())

    meanwhile = [at for at in provider.asked_at if at < OUTAGE_SECONDS]
    assert len(meanwhile) < 60
    assert sum(one.attempts for one in fleet.done) == 0
    assert {kind for one in fleet.done for kind in one.kinds} <= {FailureKind.THROTTLED}
    assert provider.time.seconds - OUTAGE_SECONDS <= 2 * IDEAL_SECONDS
    assert fleet.control.read("default") == Control()


def test_one_worker_asks_after_each_cooldown() -> None:
    """R23: the ten that were on their way, and then one at a time, less and less often."""
    provider = throttling(None)
    fleet = Fleet(provider.time, provider, documents=200, workers=10)

    provider.time.run(fleet.bodies())

    asked = [at for at in provider.asked_at if at < OUTAGE_SECONDS]
    distances = [later - sooner for sooner, later in pairwise(asked[9:])]
    assert asked[9] < 0.1
    assert len(distances) == 10
    for distance, cooldown in zip(distances, (1, 2, 4, 8, 15, 15, 15, 15, 15, 15), strict=True):
        assert cooldown <= distance <= cooldown + 1.5


def test_workers_do_not_wake_together() -> None:
    """R23: after the cooldown they come back spread over seconds."""
    provider = throttling(None)
    fleet = Fleet(provider.time, provider, documents=100, workers=10)

    provider.time.run(fleet.bodies())

    back = sorted(at for at in provider.asked_at if at >= OUTAGE_SECONDS)[1:]
    assert len({round(at, 3) for at in back}) > len(back) / 2
