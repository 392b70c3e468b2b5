"""Threads that break things as the plan says: the provider, the index and function processes."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from benchmarks.storm.weather import VICTIMS, FaultWindow, Kill, OutageWindow
from benchmarks.storm.world import World

# How long a kill waits for a process that works before any other will do.
PATIENCE_SECONDS = 2.0
# How long a fault may stay beyond its time because nobody has met it yet.
UNMET_SECONDS = 15.0
LOOK_SECONDS = 0.05
# Between two kills: on a slow machine kills come later, or hardly a run would see its end.
RUNS_BETWEEN_KILLS = 2


class Trouble:
    """Carries out faults, outages and kills until it is told to stop; then everything is whole."""

    def __init__(
        self,
        world: World,
        *,
        faults: Sequence[FaultWindow],
        outages: Sequence[OutageWindow],
        kills: Sequence[Kill],
        chance: Random,
        kill_after_seconds: float = 0.0,
    ) -> None:
        self._world = world
        self._faults = faults
        self._outages = outages
        self._kills = kills
        self._chance = chance
        self._kill_after_seconds = kill_after_seconds
        self._stop = threading.Event()
        self._errors: list[Exception] = []
        self._now: dict[str, str] = {}
        self.kills: Counter[str] = Counter()  # by function; a few come too late to hit
        self.last_kill = time.monotonic()
        self._threads = [
            threading.Thread(target=self._guarded, args=(run,), name=name, daemon=True)
            for name, run in (
                ("faults", self._break_provider),
                ("outages", self._break_index),
                ("kills", self._kill),
            )
        ]

    def start(self) -> None:
        """Begin."""
        self._began = time.monotonic()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End what is under way, and wait until everything is whole again."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._world.provider.heal()
        if self._errors:
            raise self._errors[0]

    @property
    def is_over(self) -> bool:
        """Tell whether all that was planned has happened."""
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def now(self) -> str:
        """Say what is broken at this moment."""
        return ", ".join(self._now.values()) or "calm"

    def _guarded(self, run: Callable[[], None]) -> None:
        try:
            run()
        except Exception as error:  # noqa: BLE001
            self._errors.append(error)

    def _break_provider(self) -> None:
        self._world.provider.break_with()
        for window in self._faults:
            if self._sleep_until(window.at_seconds):
                return
            self._now["provider"] = f"provider {window.fault.kind} ({window.fault.share:.0%})"
            self._world.provider.break_with(window.fault)
            asked = self._world.provider.sales().requests
            self._sleep_until(window.at_seconds + window.seconds)
            self._wait_until_met(asked)
            self._world.provider.break_with()
            del self._now["provider"]

    def _wait_until_met(self, asked: int) -> None:
        impatient_from = time.monotonic() + UNMET_SECONDS
        while self._world.provider.sales().requests == asked:
            if self._stop.wait(LOOK_SECONDS) or time.monotonic() > impatient_from:
                return

    def _break_index(self) -> None:
        for window in self._outages:
            if self._sleep_until(window.at_seconds):
                return
            self._now["index"] = f"index {window.outage}"
            self._world.break_index(window.outage)
            self._sleep_until(window.at_seconds + window.seconds)
            self._world.mend_index(window.outage)
            del self._now["index"]

    def _kill(self) -> None:
        """Kill at the planned times, and then at the same pace until the number is reached."""
        for kill in self._kills:
            if self._sleep_until(kill.at_seconds):
                return
            self._kill_busy(kill.folder)
        pause = self._kills[-1].at_seconds / len(self._kills) if self._kills else 0.0
        while self._world.stack.runner.killed_invocations < len(self._kills):
            if self._stop.wait(pause):
                return
            self._kill_busy("embed")

    def _kill_busy(self, folder: str) -> None:
        runner, after_seconds = self._world.stack.runner, self._kill_after_seconds
        while runner.whole_invocations < RUNS_BETWEEN_KILLS * runner.killed_invocations:
            if self._stop.wait(LOOK_SECONDS):
                return
        patient_until = time.monotonic() + PATIENCE_SECONDS
        while not self._stop.wait(LOOK_SECONDS):
            if runner.kill_busy(folder, self._chance, after_seconds=after_seconds):
                self.kills[folder] += 1
                self.last_kill = time.monotonic()
                return
            if time.monotonic() > patient_until:
                folder = self._chance.choice(list(VICTIMS))

    def _sleep_until(self, at_seconds: float) -> bool:
        """Wait; return whether it is time to stop."""
        return self._stop.wait(max(0.0, self._began + at_seconds - time.monotonic()))
