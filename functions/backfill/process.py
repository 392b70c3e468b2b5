"""A segment's pages -> lanes. A crash repeats one page, and what it has sent is on its way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from functions.backfill.compare import Compare
from functions.backfill.owe import Owe
from functions.backfill.ports import Errands, JobStore, SecondsLeft
from functions.core.backfill_job import Job, JobState, Segment, is_owed
from functions.core.errand import SegmentErrand
from functions.core.failure import FailureError
from functions.core.lane import queue_name
from functions.core.owing import Owed, OweResult, owing_lane
from functions.core.ports import Clock, TaskQueue, Telemetry
from functions.core.scan import ScannedItem
from functions.core.verification import Pair, Sighting

# Two reads of BatchGetItem, and twenty calls to SQS.
PAGE_ITEMS = 200
# Enough for the workers of the lane; more would only wait in SQS, where nobody can cancel it.
MAX_WAITING = 2000
# So many tasks are worked in seconds where the provider allows it: the lane must not run dry.
HOLD_SECONDS = 5
# A page is not begun with less.
PAGE_SECONDS = 15.0
# Between the clocks of a command and of a run.
SKEW_MS = 60 * 1000
# A segment of a running job without news for so long has lost its message.
SILENT_MS = 10 * 60 * 1000


@dataclass(frozen=True)
class Backfill:
    """The step with its dependencies."""

    jobs: JobStore
    errands: Errands
    compares: Mapping[str, Compare]  # by the name of their pair
    owe: Owe
    queue: TaskQueue
    telemetry: Telemetry
    clock: Clock

    def run(self, errand: SegmentErrand, seconds_left: SecondsLeft) -> None:
        """Scan and send page after page until time, the lane or the job's state says stop."""
        job = self._running(errand.job)
        if job is None:
            return
        segment = self.jobs.segments(job)[errand.segment]
        while not segment.is_done:
            saved = self.jobs.save(self._next(job, segment), now_ms=self.clock())
            if saved is None:
                # Another message of this segment is at work: this one ends here.
                return
            if saved.is_exhausted:
                self._fail(job, saved)
                return
            delay = _pause_seconds(segment, saved, seconds_left)
            if delay is not None:
                self.errands.send(errand, delay_seconds=delay)
                return
            if not saved.is_done and self._running(job.id) is None:
                return
            segment = saved
        self._finish(job)

    def look_after(self) -> None:
        """Send the segments of running jobs again that have lost their message."""
        for job in self.jobs.listed():
            if job.state is not JobState.RUNNING:
                continue
            segments = self.jobs.segments(job)
            silent_ms = self.clock() - SILENT_MS
            for one in segments:
                if not one.is_done and one.saved_ms < silent_ms:
                    self.telemetry.event("segment_silent", job=job.id, segment=one.number)
                    self.errands.send(SegmentErrand(job.id, one.number))
            if all(one.is_done for one in segments):
                self._finish(job)

    def _running(self, name: str) -> Job | None:
        job = self.jobs.read(name)
        if job is None:
            self.telemetry.event("job_unknown", job=name)
        return job if job is not None and job.state is JobState.RUNNING else None

    def _next(self, job: Job, segment: Segment) -> Segment:
        """Return the segment after one more page, or as it is while the lane is full."""
        compare = self.compares.get(f"{job.target}/{job.source}")
        if compare is None:
            return segment.failed(f"source {job.source} and target {job.target} are not deployed")
        try:
            if self._is_full(compare.pair):
                return segment
            return self._page(job, segment, compare)
        except FailureError as error:
            self.telemetry.event(
                "segment_failed", job=job.id, segment=segment.number, failure=str(error)
            )
            self.telemetry.count("SegmentsFailed")
            return segment.failed(str(error))

    def _is_full(self, pair: Pair) -> bool:
        name = queue_name(owing_lane(pair.source), pair.source.name)
        return self.queue.waiting(pair.target.name).get(name, 0) > MAX_WAITING

    def _page(self, job: Job, segment: Segment, compare: Compare) -> Segment:
        page = compare.table.scan(
            compare.pair.source,
            segment=segment.number,
            segments=job.segments,
            after=segment.after,
            most=PAGE_ITEMS,
        )
        sightings = compare.with_entries(list(compare.with_rows(page.items)))
        chosen = [seen for seen in sightings if is_owed(seen, job.only, compare.pair)]
        is_open = [s for s in sightings if s.row is not None and s.row.status.is_open]
        results = self.owe.send(
            _owed([*chosen, *is_open], page.items, compare.pair),
            compare.pair,
            # Not since its last page: of a page that a crash has cut off, items that were inserted
            # meanwhile push some into the next one.
            since_ms=job.created_ms - SKEW_MS,
        )
        sent = results[OweResult.OWED] + results[OweResult.AGAIN]
        self.telemetry.count("DocumentsBackfilled", sent)
        self.telemetry.event(
            "page_backfilled",
            job=job.id,
            segment=segment.number,
            scanned=len(page.items),
            sent=sent,
        )
        return segment.advanced(
            page.last,
            scanned=len(page.items),
            sent=sent,
            on_their_way=results[OweResult.ON_ITS_WAY],
        )

    def _finish(self, job: Job) -> None:
        """End the job with its last segment."""
        if not all(one.is_done for one in self.jobs.segments(job)):
            return
        running = (JobState.RUNNING,)
        if self.jobs.set_state(job.id, JobState.DONE, before=running, now_ms=self.clock()):
            self.telemetry.event("job_done", job=job.id)

    def _fail(self, job: Job, segment: Segment) -> None:
        running = (JobState.RUNNING,)
        failure = f"segment {segment.number}: {segment.failure}"
        if self.jobs.set_state(
            job.id, JobState.FAILED, before=running, now_ms=self.clock(), failure=failure
        ):
            self.telemetry.event("job_failed", job=job.id, failure=failure)
            self.telemetry.count("JobsFailed")
        # Not before, as a run that is killed here is to fail it with the next failure.
        self.jobs.save(segment.forgiven(), now_ms=self.clock())


def _pause_seconds(before: Segment, saved: Segment, seconds_left: SecondsLeft) -> int | None:
    """Return after how long another run goes on with a segment; None: this one does."""
    if saved.failures:
        return saved.delay_seconds
    if saved.is_done:
        return None
    if saved.after == before.after:
        return HOLD_SECONDS
    return 0 if seconds_left() < PAGE_SECONDS else None


def _owed(sightings: Sequence[Sighting], items: Sequence[ScannedItem], pair: Pair) -> list[Owed]:
    keys = {one.document_id: one.key for one in items}
    return [
        Owed(
            document_id=seen.document_id,
            key=keys[seen.document_id],
            lane=owing_lane(pair.source),
            above_version=seen.entry.version if seen.entry else 0,
        )
        for seen in sightings
    ]
