"""The time that a run may spend waiting."""

import pytest

from functions.core.failure import Failure, FailureError, FailureKind
from functions.embed.guard.waiting import Waiting

PAUSED = Failure(FailureKind.PAUSED, "the provider's breaker is open")


@pytest.mark.parametrize(("left", "shortest"), [(100.0, 5.0), (16.0, 2.0), (0.0, 0.0), (-1.0, 0.0)])
def test_shortest_request_is_an_eighth_of_a_short_run(left: float, shortest: float) -> None:
    """R23: five seconds of a long one."""
    assert Waiting(lambda: left, lambda _: None).shortest_seconds == shortest


@pytest.mark.parametrize(("seconds", "waited"), [(3.0, 3.0), (30.0, 6.0), (0.0, 0.001)])
def test_wait_leaves_the_seconds_that_are_needed_after_it(seconds: float, waited: float) -> None:
    """R23: and lasts a millisecond at least."""
    waits: list[float] = []
    waiting = Waiting(lambda: 10.0, waits.append)

    waiting.sleep(seconds, PAUSED, least_seconds=4.0)

    assert waits == [waited]
    assert waiting.waited_ms == round(waited * 1000)


def test_wait_without_time_fails_with_its_reason() -> None:
    """R25: the batch goes back."""
    with pytest.raises(FailureError) as caught:
        Waiting(lambda: 4.0, lambda _: None).sleep(1.0, PAUSED, least_seconds=4.0)

    assert caught.value.failure is PAUSED
