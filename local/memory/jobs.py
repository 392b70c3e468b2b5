"""Jobs, their segments, proofs and errands of the function backfill, in memory."""

from collections import deque
from collections.abc import Collection
from dataclasses import replace

from functions.core.backfill_job import Job, JobState, Segment
from functions.core.errand import Errand
from functions.core.ports import Clock
from functions.core.proof import Proof


class MemoryJobs:
    """Keeps jobs and segments, and swaps segments under their revision."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._segments: dict[tuple[str, int], Segment] = {}

    def create(self, job: Job) -> None:
        for number in range(job.segments):
            segment = replace(Segment.first(job, number), revision=1)
            self._segments[job.id, number] = segment
        self._jobs[job.id] = job

    def read(self, job: str) -> Job | None:
        return self._jobs.get(job)

    def listed(self) -> list[Job]:
        return sorted(self._jobs.values(), key=lambda job: job.created_ms, reverse=True)

    def segments(self, job: Job) -> list[Segment]:
        return [self._segments[job.id, number] for number in range(job.segments)]

    def save(self, segment: Segment, *, now_ms: int) -> Segment | None:
        key = segment.job, segment.number
        if self._segments[key].revision != segment.revision:
            return None
        saved = replace(segment, revision=segment.revision + 1, saved_ms=now_ms)
        self._segments[key] = saved
        return saved

    def set_state(
        self,
        job: str,
        state: JobState,
        *,
        before: Collection[JobState],
        now_ms: int,
        failure: str = "",
    ) -> bool:
        known = self._jobs.get(job)
        if known is None or known.state not in before:
            return False
        ended_ms = now_ms if state.has_ended else None
        self._jobs[job] = replace(known, state=state, ended_ms=ended_ms, failure=failure)
        return True


class MemoryProofs:
    """Keeps how far the proof of each pair is."""

    def __init__(self) -> None:
        self._proofs: dict[str, Proof] = {}

    def read(self, pair: str) -> Proof | None:
        return self._proofs.get(pair)

    def save(self, pair: str, proof: Proof) -> bool:
        known = self._proofs.get(pair)
        if (known.revision if known else 0) != proof.revision:
            return False
        self._proofs[pair] = replace(proof, revision=proof.revision + 1)
        return True


class MemoryErrands:
    """Keeps errands with the time from which they may be taken."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: deque[tuple[int, Errand]] = deque()

    def send(self, errand: Errand, *, delay_seconds: int = 0) -> None:
        self._waiting.append((self._clock() + delay_seconds * 1000, errand))

    def take(self) -> Errand | None:
        """Return the first errand whose time has come, and forget it."""
        for due_ms, errand in self._waiting:
            if due_ms <= self._clock():
                self._waiting.remove((due_ms, errand))
                return errand
        return None

    def __len__(self) -> int:
        return len(self._waiting)
