"""An event that nobody waits for comes to its end by itself."""

import threading
from collections.abc import Callable, Sequence

import pytest

from local.processes import wait_for
from local.runner.asynchronous import AsynchronousInvocations
from local.runner.invocation import Invocation, exited, failed, throttled

LIMIT_SECONDS = 20.0


class Script:
    """A function that answers one after the other, the last one again and again."""

    def __init__(self, *answers: Invocation) -> None:
        self._answers = list(answers)
        self.events: list[bytes] = []

    def __call__(self, event: bytes) -> Invocation:
        self.events.append(event)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def begin(script: Script, retry_seconds: Sequence[float]) -> Callable[[], None]:
    """Give the script one event; return how to stop."""
    stop = threading.Event()
    invocations = AsynchronousInvocations(stop, retry_seconds)
    invocations.begin("sample", script, b"{}")

    def end() -> None:
        stop.set()
        invocations.join()

    return end


@pytest.mark.parametrize(
    ("answers", "runs"),
    [
        ([Invocation("1")], 1),
        ([exited("1", -9), Invocation("2")], 2),
        ([failed("1", "ValueError", "no"), failed("2", "ValueError", "no"), Invocation("3")], 3),
    ],
    ids=["good", "killed-once", "failed-twice"],
)
def test_a_failed_event_is_run_again(answers: list[Invocation], runs: int) -> None:
    """R31 R82: a sweep whose process was killed comes again."""
    script = Script(*answers, failed("9", "TooMany", "one run too many"))

    end = begin(script, [0, 0])

    assert wait_for(lambda: len(script.events) == runs, LIMIT_SECONDS)
    end()
    assert script.events == [b"{}"] * runs


def test_an_event_that_fails_three_times_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    """R82: as Lambda does, and it is said."""
    script = Script(failed("1", "ValueError", "no"))

    end = begin(script, [0, 0])

    assert wait_for(lambda: "sample: an event was given up" in caplog.text, LIMIT_SECONDS)
    end()
    assert len(script.events) == 3


def test_a_throttled_event_waits_and_spends_no_retry() -> None:
    """R82: it did not run; Lambda keeps it for hours."""
    script = Script(throttled("1"), failed("2", "ValueError", "no"), Invocation("3"))

    end = begin(script, [0])

    assert wait_for(lambda: len(script.events) == 3, LIMIT_SECONDS)
    end()


def test_an_event_that_waits_for_its_retry_ends_with_the_runner() -> None:
    """R82: stop does not wait for the minutes between retries."""
    script = Script(failed("1", "ValueError", "no"))
    end = begin(script, [600])
    assert wait_for(lambda: len(script.events) == 1, LIMIT_SECONDS)

    end()

    assert len(script.events) == 1
