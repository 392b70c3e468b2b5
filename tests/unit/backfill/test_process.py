"""When a segment goes on, waits or ends, on the in-memory engines."""

from dataclasses import replace

import pytest

from functions.backfill import prove
from functions.backfill.process import HOLD_SECONDS, MAX_WAITING, PAGE_ITEMS, SILENT_MS
from functions.core.backfill_job import Estimate, Job, JobState, Only
from functions.core.entry import Entry
from functions.core.errand import SegmentErrand
from functions.core.identity import DocumentId, entry_id
from functions.core.settings import VerifySettings
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline
from tests.flow.stories import row, write

ERRAND = SegmentErrand("job", 0)


def fill(pipeline: MemoryPipeline, number: int) -> None:
    """Write items that the stream has forgotten."""
    for place in range(number):
        write(pipeline, f"old-{place:04}", f"text {place}")
    pipeline.read["articles"] = len(pipeline.tables["articles"].stream)


def start(pipeline: MemoryPipeline, name: str = "job", only: Only = Only.MISSING) -> Job:
    job = Job(
        id=name,
        source="articles",
        target="default",
        only=only,
        segments=1,
        by="me",
        reason="first load",
        created_ms=pipeline.clock(),
        estimate=Estimate(items=0, documents=0, tokens=0),
    )
    pipeline.jobs.create(job)
    return job


def run(pipeline: MemoryPipeline, seconds: float = 60.0) -> None:
    pipeline.backfill.run(ERRAND, pipeline.seconds_left(seconds))


def sent(pipeline: MemoryPipeline, job: Job) -> int:
    [segment] = pipeline.jobs.segments(job)
    return segment.sent


def events(pipeline: MemoryPipeline) -> list[str]:
    return [name for name, _ in pipeline.telemetry.events]


@pytest.mark.parametrize(("seconds", "goes_on"), [(15.0, True), (14.9, False)])
def test_page_is_not_begun_without_the_time_for_it(seconds: float, goes_on: bool) -> None:
    """R43: another run goes on at once, where this one stopped."""
    pipeline = make_pipeline()
    fill(pipeline, PAGE_ITEMS + 1)
    job = start(pipeline)

    run(pipeline, seconds)

    assert sent(pipeline, job) == PAGE_ITEMS + goes_on
    assert pipeline.errands.take() == (None if goes_on else ERRAND)


@pytest.mark.parametrize(("waiting", "is_held"), [(MAX_WAITING, False), (MAX_WAITING + 1, True)])
def test_full_lane_is_asked_again_after_a_while(waiting: int, is_held: bool) -> None:
    """R43: nothing is sent while more wait than the workers can use."""
    pipeline = make_pipeline()
    fill(pipeline, 3)
    for number in range(waiting):
        pipeline.queues.put("default/bulk", f"{number}", group=None, deduplication_id=None)
    job = start(pipeline)

    run(pipeline)

    assert sent(pipeline, job) == (0 if is_held else 3)
    assert pipeline.errands.take() is None
    pipeline.clock.advance(HOLD_SECONDS)
    assert pipeline.errands.take() == (ERRAND if is_held else None)


def test_job_that_is_not_known_is_said_and_a_known_one_not() -> None:
    """R43: its row has expired, say."""
    pipeline = make_pipeline()
    run(pipeline)
    assert events(pipeline) == ["job_unknown"]

    start(pipeline)
    run(pipeline)
    assert events(pipeline).count("job_unknown") == 1


def test_page_that_is_sent_again_after_a_kill_is_counted() -> None:
    """R43: the job says how many it has sent; the kill came before it was noted."""
    pipeline = make_pipeline()
    fill(pipeline, 5)
    job = start(pipeline)
    before = pipeline.jobs.segments(job)[0]
    run(pipeline)
    again = replace(before, revision=pipeline.jobs.segments(job)[0].revision)
    pipeline.jobs.save(again, now_ms=pipeline.clock())
    running = (JobState.DONE,)
    pipeline.jobs.set_state("job", JobState.RUNNING, before=running, now_ms=pipeline.clock())

    run(pipeline)

    assert sent(pipeline, job) == 5


def test_version_is_above_that_of_an_entry_without_a_row() -> None:
    """R43 R45: the ledger was lost, and OpenSearch refuses what is older."""
    pipeline = make_pipeline()
    write(pipeline, "a", "hello")
    pipeline.drain()
    entries = pipeline.indexes["default"].entries
    key = entry_id("articles", DocumentId("a"))
    held = entries[key]
    assert isinstance(held, Entry)
    future = pipeline.clock() + 10**9
    entries[key] = replace(held, version=future)
    pipeline.ledger.rows.clear()
    start(pipeline, only=Only.ALL)

    run(pipeline)

    assert row(pipeline, "a").task.version == future + 1


@pytest.mark.parametrize(("more_ms", "is_sent"), [(0, False), (1, True)])
def test_silent_segment_is_sent_again_behind_a_paused_job(more_ms: int, is_sent: bool) -> None:
    """R43: after ten minutes, for every job that runs."""
    pipeline = make_pipeline()
    start(pipeline)
    pipeline.clock.advance(1)
    start(pipeline, "newer")
    running = (JobState.RUNNING,)
    pipeline.jobs.set_state("newer", JobState.PAUSED, before=running, now_ms=pipeline.clock())
    pipeline.clock.advance((SILENT_MS + more_ms) / 1000 - 1)

    pipeline.backfill.tick("jobs")

    assert pipeline.errands.take() == (ERRAND if is_sent else None)


def test_proof_goes_through_all_pages_of_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """R56: of the table and of the index, which have more than one page; a slice is its own."""
    monkeypatch.setattr(prove, "PAGE_ITEMS", 1)
    pipeline = make_pipeline(verify=VerifySettings(days=1))
    for number in range(60):
        write(pipeline, f"{number}", f"text {number}")
    pipeline.drain()
    entries = pipeline.indexes["default"].entries
    for number in range(30):
        key = entry_id("articles", DocumentId(f"{number}"))
        ghost = DocumentId(f"ghost {number}")
        entries[entry_id("articles", ghost)] = replace(entries.pop(key), document_id=ghost)

    found: list[int] = []
    for _ in range(24):
        pipeline.clock.advance(3600)
        pipeline.backfill.tick("proof")
        pipeline.run_errands()
        found.append(pipeline.telemetry.metrics["Drifted"])

    assert found[-1] == 60
    assert found[0] < 20
