"""Stories of tables that were full before the stack was there, on the in-memory engines."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from functions.backfill import process
from functions.backfill.process import HOLD_SECONDS, MAX_WAITING, PAGE_ITEMS
from functions.core.backfill_job import MAX_FAILURES, Estimate, Job, JobState, Only
from functions.core.change import NOWHERE
from functions.core.errand import SegmentErrand
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import Swapped
from functions.core.task import Task
from functions.sweep.holds import MAX_WAITING as HEALING_BACKLOG
from local.memory.pipeline import MemoryPipeline
from ops.estimate import segments_for
from tests.builders import make_pipeline, make_row
from tests.fake_embedder import FakeEmbedder
from tests.flow.stories import row, texts, write
from tests.newer_rows import NewerRows


class KilledError(BaseException):
    """The run ends at once, as by a kill."""


class LateRows(NewerRows):
    """Newer code writes a row just before the first write of this code."""

    late: LedgerRow | None = None

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        if self.late is not None:
            self.rows[self.late.row_key] = self.late
            self.newer = {self.late.row_key}
            self.late = None
        return super().write(rows)


def fill(pipeline: MemoryPipeline, number: int) -> list[str]:
    """Write items that the stream has forgotten before the stack was there."""
    names = [f"old-{place:04}" for place in range(number)]
    for name in names:
        write(pipeline, name, f"text of {name}")
    pipeline.read["articles"] = len(pipeline.tables["articles"].stream)
    return names


def start(pipeline: MemoryPipeline, only: Only = Only.MISSING, segments: int = 2) -> Job:
    job = Job(
        id="job",
        source="articles",
        target="default",
        only=only,
        segments=segments,
        by="me",
        reason="first load",
        created_ms=pipeline.clock(),
        estimate=Estimate(items=0, documents=0, tokens=0),
    )
    pipeline.jobs.create(job)
    for number in range(segments):
        pipeline.errands.send(SegmentErrand(job.id, number))
    return job


def finish(pipeline: MemoryPipeline) -> None:
    """Let backfill and embed work in turns until nothing is left."""
    for _ in range(1000):
        pipeline.run_errands()
        if not pipeline.run_all() and not len(pipeline.errands):
            break
        pipeline.clock.advance(HOLD_SECONDS)
    pipeline.drain()


def test_backfill_keeps_less_waiting_than_what_holds_healing() -> None:
    """R43 R26: documents that failed heal while a backfill of days goes on."""
    most = MAX_WAITING + segments_for(10**9) * PAGE_ITEMS

    assert most < HEALING_BACKLOG


def state(pipeline: MemoryPipeline) -> JobState:
    job = pipeline.jobs.read("job")
    assert job is not None
    return job.state


def sent(pipeline: MemoryPipeline) -> int:
    job = pipeline.jobs.read("job")
    assert job is not None
    return sum(one.sent for one in pipeline.jobs.segments(job))


def test_items_older_than_the_stack_are_indexed(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R43: each once, in the bulk lane, and the job ends."""
    names = fill(pipeline, PAGE_ITEMS + 7)
    start(pipeline, segments=1)

    finish(pipeline)

    assert sorted(texts(pipeline)) == names
    assert sum(map(len, embedder.requests)) == len(names)
    assert (state(pipeline), sent(pipeline)) == (JobState.DONE, len(names))
    done = row(pipeline, names[0])
    assert (done.position, done.task.lane, done.written_ms) == (NOWHERE, Lane.BULK, 0)
    assert pipeline.telemetry.metrics["FreshnessMilliseconds"] == 0


@pytest.mark.parametrize("calls", range(1, 12))
def test_killed_anywhere_it_ends_complete_and_pays_once(calls: int) -> None:
    """R43: a kill after any call of a run repeats one page, and no document is sent for nothing."""
    embedder = FakeEmbedder()
    around = KillAfter(calls)
    pipeline = make_pipeline(embedders={"default": embedder}, around=around)
    names = fill(pipeline, 60)

    job, killed_ms = start_and_kill(pipeline, around)
    pipeline.errands.send(SegmentErrand(job.id, 0))
    finish(pipeline)
    # Not by the sweep, a day later.
    assert pipeline.clock() - killed_ms < 3_600_000
    assert sorted(texts(pipeline)) == names
    assert sum(map(len, embedder.requests)) == len(names)
    assert state(pipeline) is JobState.DONE


@pytest.mark.parametrize("calls", range(1, 12))
def test_document_that_new_items_push_out_of_a_cut_page_is_sent(
    calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R43 R31: a page that is read again after a kill ends earlier, and its last rows are there."""
    monkeypatch.setattr(process, "PAGE_ITEMS", 20)
    around = KillAfter(calls)
    pipeline = make_pipeline(around=around)
    names = fill(pipeline, 50)

    job, killed_ms = start_and_kill(pipeline, around)
    new = [f"new-{place}" for place in range(10)]
    for name in new:
        write(pipeline, name, f"text of {name}")
    pipeline.errands.send(SegmentErrand(job.id, 0))
    finish(pipeline)
    assert pipeline.clock() - killed_ms < 3_600_000
    assert sorted(texts(pipeline)) == [*new, *names]


def start_and_kill(pipeline: MemoryPipeline, around: "KillAfter") -> tuple[Job, int]:
    """Let the first run of a job be killed; return the job, and when that was, 90 seconds ago."""
    job = start(pipeline, segments=1)
    errand = pipeline.errands.take()
    assert errand is not None
    around.is_armed = True
    with pytest.raises(KilledError):
        pipeline.backfill.run(errand, pipeline.seconds_left(60))
    killed_ms = pipeline.clock()
    pipeline.clock.advance(90)
    return job, killed_ms


class KillAfter:
    """Ends a run after so many calls of its adapters."""

    def __init__(self, calls: int) -> None:
        self.left = calls
        self.is_armed = False

    def __call__(self, adapter: Any, methods: set[str]) -> Any:
        return _Counted(adapter, methods, self._count)

    def _count(self) -> None:
        if self.is_armed:
            self.left -= 1
            if self.left == 0:
                self.is_armed = False
                raise KilledError


class _Counted:
    def __init__(self, adapter: Any, methods: set[str], count: Callable[[], None]) -> None:
        self._adapter, self._methods, self._count = adapter, methods, count

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._adapter, name)
        if name not in self._methods:
            return found

        def call(*args: Any, **options: Any) -> Any:
            answer = found(*args, **options)
            self._count()
            return answer

        return call


def test_document_written_meanwhile_is_never_older_than_its_last_write(
    pipeline: MemoryPipeline,
) -> None:
    """R43 R06: whether the write comes before the backfill's row, after it, or before the run."""
    names = fill(pipeline, 3)
    write(pipeline, names[0], "newer before")
    pipeline.deliver_new()
    start(pipeline)
    pipeline.run_errands()
    write(pipeline, names[1], "newer after")
    pipeline.tables["articles"].delete({"id": names[2]})
    finish(pipeline)

    assert texts(pipeline) == {names[0]: "newer before", names[1]: "newer after"}
    assert row(pipeline, names[0]).task.lane is Lane.NORMAL


def test_open_document_is_not_sent_twice(pipeline: MemoryPipeline) -> None:
    """R43: it is on its way, in the lane of its write."""
    fill(pipeline, 1)
    write(pipeline, "live", "hello")
    pipeline.deliver_new()
    version = row(pipeline, "live").task.version
    start(pipeline)

    pipeline.run_errands()

    assert (sent(pipeline), row(pipeline, "live").task.version) == (1, version)


def test_full_lane_holds_the_scan_back(pipeline: MemoryPipeline) -> None:
    """R43: no more waits in the bulk lane than its workers can use."""
    fill(pipeline, 30)
    for number in range(MAX_WAITING + 1):
        pipeline.queues.put("default/bulk", f"{number}", group=None, deduplication_id=None)
    start(pipeline)

    pipeline.run_errands()

    assert (sent(pipeline), state(pipeline), len(pipeline.errands)) == (0, JobState.RUNNING, 2)
    pipeline.queues.purge("default/bulk")
    finish(pipeline)
    assert (sent(pipeline), state(pipeline)) == (30, JobState.DONE)


def test_paused_job_goes_on_where_it_stopped(
    pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R43: a pause is read at each page; what was sent is not sent again."""
    fill(pipeline, PAGE_ITEMS + 5)
    job = start(pipeline, segments=1)
    send = pipeline.queues.send

    def send_and_pause(tasks: Sequence[Task]) -> list[Task]:
        running = [JobState.RUNNING]
        pipeline.jobs.set_state("job", JobState.PAUSED, before=running, now_ms=pipeline.clock())
        return send(tasks)

    monkeypatch.setattr(pipeline.queues, "send", send_and_pause)
    pipeline.run_errands()
    monkeypatch.undo()
    so_far = (sent(pipeline), state(pipeline), len(pipeline.errands))
    assert so_far == (PAGE_ITEMS, JobState.PAUSED, 0)

    paused = [JobState.PAUSED]
    pipeline.jobs.set_state("job", JobState.RUNNING, before=paused, now_ms=pipeline.clock())
    pipeline.errands.send(SegmentErrand(job.id, 0))
    finish(pipeline)

    assert (sent(pipeline), state(pipeline)) == (PAGE_ITEMS + 5, JobState.DONE)


def test_cancelled_job_sends_nothing_more(pipeline: MemoryPipeline) -> None:
    """R43: its messages end without work."""
    fill(pipeline, 5)
    start(pipeline)
    running = [JobState.RUNNING]
    pipeline.jobs.set_state("job", JobState.CANCELLED, before=running, now_ms=pipeline.clock())

    pipeline.run_errands()

    assert (sent(pipeline), len(pipeline.errands)) == (0, 0)


def test_segment_that_lost_its_message_is_sent_again(pipeline: MemoryPipeline) -> None:
    """R43: after ten minutes without news, by the clock."""
    fill(pipeline, 5)
    start(pipeline)
    while pipeline.errands.take():
        pass
    pipeline.backfill.tick("jobs")
    assert len(pipeline.errands) == 0

    pipeline.clock.advance(11 * 60)
    pipeline.backfill.tick("jobs")
    finish(pipeline)

    assert (sent(pipeline), state(pipeline)) == (5, JobState.DONE)


def test_two_messages_of_a_segment_send_each_document_once(pipeline: MemoryPipeline) -> None:
    """R43: SQS may deliver a message twice."""
    names = fill(pipeline, 5)
    start(pipeline, segments=1)
    pipeline.errands.send(SegmentErrand("job", 0))

    finish(pipeline)

    assert (sent(pipeline), sorted(texts(pipeline))) == (5, names)


def test_job_that_fails_for_hours_asks_for_a_person(pipeline: MemoryPipeline) -> None:
    """R43: with its reason; resumed, it goes on."""
    fill(pipeline, 5)
    start(pipeline, segments=1)
    failure = Failure(FailureKind.STORE_DENIED, "no right to scan")

    def denied(**_: Any) -> Any:
        raise FailureError(failure)

    compare = pipeline.backfill.backfill.compares["default/articles"]
    broken = replace(compare, table=type("Denied", (), {"scan": lambda *_, **__: denied()})())
    compares = {"default/articles": broken}
    step = replace(pipeline.backfill.backfill, compares=compares)
    for _ in range(MAX_FAILURES):
        pipeline.clock.advance(3600)
        errand = pipeline.errands.take()
        assert isinstance(errand, SegmentErrand)
        step.run(errand, pipeline.seconds_left(60))

    job = pipeline.jobs.read("job")
    assert job is not None
    assert (job.state, job.failure) == (
        JobState.FAILED,
        "segment 0: store_denied: no right to scan",
    )
    assert (len(pipeline.errands), pipeline.telemetry.metrics["JobsFailed"]) == (0, 1)


def test_resumed_job_does_not_fail_for_what_was_before(pipeline: MemoryPipeline) -> None:
    """R43: its lane may be full still; and it has all its tries again."""
    fill(pipeline, 5)
    job = start(pipeline, segments=1)
    backfill = pipeline.backfill.backfill

    def deny() -> None:
        compare = backfill.compares["default/articles"]
        denied = FailureError(Failure(FailureKind.STORE_DENIED, "no right to scan"))
        broken = replace(compare, table=Mock(scan=Mock(side_effect=denied)))
        step = replace(backfill, compares={"default/articles": broken})
        step.run(SegmentErrand(job.id, 0), pipeline.seconds_left(60))

    for _ in range(MAX_FAILURES):
        deny()
    assert state(pipeline) is JobState.FAILED
    for number in range(MAX_WAITING + 1):
        pipeline.queues.put("default/bulk", f"{number}", group=None, deduplication_id=None)

    failed = [JobState.FAILED]
    pipeline.jobs.set_state("job", JobState.RUNNING, before=failed, now_ms=pipeline.clock())
    backfill.run(SegmentErrand(job.id, 0), pipeline.seconds_left(60))
    assert state(pipeline) is JobState.RUNNING
    deny()
    assert state(pipeline) is JobState.RUNNING

    pipeline.queues.purge("default/bulk")
    pipeline.clock.advance(3600)
    finish(pipeline)
    assert (sent(pipeline), state(pipeline)) == (5, JobState.DONE)


@pytest.mark.parametrize(
    ("only", "wanted"),
    [
        (Only.MISSING, {"lost", "new"}),
        (Only.STALE, {"stale"}),
        (Only.FAILED, {"bad"}),
        (Only.ALL, {"lost", "new", "stale", "bad", "good"}),
    ],
)
def test_each_choice_sends_its_documents(
    pipeline: MemoryPipeline, only: Only, wanted: set[str]
) -> None:
    """R43: missing, stale, failed, or all; a skipped item is never sent."""
    for name in ("lost", "stale", "good"):
        write(pipeline, name, f"text {name}")
    write(pipeline, "bad", b"no text")
    write(pipeline, "skipped", "text", hidden=True)
    pipeline.drain()
    index = pipeline.indexes["default"].entries
    for name, entry in list(index.items()):
        if entry.document_id == "lost":
            del index[name]
        if entry.document_id == "stale":
            index[name] = replace(entry, content_hash="of an older text")
    write(pipeline, "new", "text new")
    pipeline.read["articles"] = len(pipeline.tables["articles"].stream)
    versions = {name: row(pipeline, name).task.version for name in ("lost", "stale", "good", "bad")}
    pipeline.clock.advance(60)
    start(pipeline, only)

    pipeline.run_errands()

    rows = pipeline.ledger.rows.values()
    moved = {r.task.document_id for r in rows if r.status is Status.PENDING}
    assert moved == wanted
    assert all(row(pipeline, name).task.version > versions.get(name, 0) for name in wanted)


def test_lost_index_is_owed_again_by_missing(pipeline: MemoryPipeline) -> None:
    """R43 R45: its documents, with nothing written by the application."""
    for number in range(5):
        write(pipeline, f"{number}", f"text {number}")
    pipeline.drain()
    pipeline.indexes["default"].lose("index-2")
    pipeline.sweep("due")
    pipeline.clock.advance(60)
    start(pipeline)

    finish(pipeline)

    assert len(texts(pipeline)) == 5


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "while its page is written"])
def test_row_of_newer_code_holds_no_other_document_back(is_late: bool) -> None:
    """R35 R43 R55: the others of its page are sent, and it is left to the code that wrote it."""
    ledger = LateRows()
    pipeline = make_pipeline(ledger=ledger)
    names = fill(pipeline, PAGE_ITEMS)
    newer = make_row(document_id=DocumentId(names[3]), status=Status.COMPLETED)
    ledger.late = newer
    if not is_late:
        ledger.write([])
    start(pipeline)

    finish(pipeline)

    assert state(pipeline) is JobState.DONE
    assert set(texts(pipeline)) == set(names) - {names[3]}
    assert ledger.rows[newer.row_key] == newer
