"""CLOCK -> FUNCTION. A rule fires at its rate, whether or not the last event is done.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-rule-schedule.html
"""

from collections.abc import Callable
from threading import Event, Thread

from local.specs import ScheduleSpec


class Schedule:
    """One rule: fires first a whole interval after its start."""

    def __init__(self, spec: ScheduleSpec, fire: Callable[[bytes], None], stop: Event) -> None:
        """Be ready to start."""
        self._spec = spec
        self._fire = fire
        self._stop = stop
        self._thread = Thread(target=self._run, name=spec.rule, daemon=True)

    def start(self) -> None:
        """Begin to wait for the first time; a disabled rule never fires."""
        if self._spec.enabled:
            self._thread.start()

    def join(self) -> None:
        """Wait for its end, after the stop event."""
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._spec.every_seconds):
            self._fire(self._spec.payload.encode())
