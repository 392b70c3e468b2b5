"""An event's jobs, one after the other: one that fails keeps no other from running."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from functions.core.failure import FailureError
from functions.core.ports import Clock, Telemetry
from functions.sweep.ports import Job, SecondsLeft
from functions.sweep.purge import PurgeError
from functions.sweep.replay import ReplayError

# What a job has begun is finished in this time, the run's own end included.
FINISH_SECONDS = 10.0

EXPECTED = (FailureError, PurgeError, ReplayError)


class SweepError(Exception):
    """Jobs of a run failed; the others have done their work."""


class UnknownJobError(ValueError):
    """The event names no job of the sweep."""


@dataclass(frozen=True)
class Sweep:
    """The step: jobs by the name of their event."""

    jobs: Mapping[str, Sequence[Job]]
    telemetry: Telemetry
    clock: Clock

    def run(self, name: str, seconds_left: SecondsLeft) -> None:
        """Run the jobs of an event; raise at the end if one failed."""
        self.telemetry.count("SweepRuns")
        if name not in self.jobs:
            known = ", ".join(self.jobs)
            raise UnknownJobError(f"the event's job is {name!r}; it is one of: {known}")
        started_ms = self.clock()
        waiting = list(self.jobs[name])
        failed: list[str] = []
        while waiting:
            share = share_of(seconds_left, len(waiting))
            failed += self._run(waiting.pop(0), share)
        self.telemetry.count("SweepDurationMilliseconds", self.clock() - started_ms)
        if failed:
            raise SweepError(f"sweep {name}: {'; '.join(failed)}")

    def _run(self, job: Job, seconds_left: SecondsLeft) -> list[str]:
        try:
            job.run(seconds_left)
        except Exception as error:  # noqa: BLE001
            expected = isinstance(error, EXPECTED)
            failure = str(error) if expected else f"unexpected {type(error).__name__}, see the log"
            if not expected:
                self.telemetry.unexpected(error)
            self.telemetry.event("sweep_job_failed", job=job.name, failure=failure)
            self.telemetry.count("SweepJobsFailed")
            return [f"{job.name}: {failure}"]
        return []


def share_of(seconds_left: SecondsLeft, jobs: int) -> SecondsLeft:
    """Give the first of so many jobs its part of the time: none starves the others for ever."""
    share = max(0.0, seconds_left() - FINISH_SECONDS) / jobs
    end = seconds_left() - share
    return lambda: seconds_left() - end
