"""Jobs, segments and proofs, in memory and on DynamoDB Local."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest

from functions.adapters.dynamodb_jobs import DynamoDbJobs, DynamoDbProofs
from functions.backfill.ports import JobStore, ProofStore
from functions.core.backfill_job import Estimate, Job, JobState, Only
from functions.core.proof import proof_for
from local.aws_client import local_client
from local.memory.jobs import MemoryJobs, MemoryProofs
from tests.contract.engines import engine_url
from tests.ledger_table import create_ledger_table

NOW_MS = 1_700_000_000_000
RUNNING = (JobState.RUNNING,)


@dataclass(frozen=True)
class Stores:
    jobs: JobStore
    proofs: ProofStore


@pytest.fixture(params=["memory", pytest.param("dynamodb-local", marks=pytest.mark.engines)])
def stores(request: pytest.FixtureRequest) -> Iterator[Stores]:
    if request.param == "memory":
        yield Stores(MemoryJobs(), MemoryProofs())
        return
    client = local_client("dynamodb", engine_url(request, "dynamodb_url"))
    table = f"ledger-{uuid4()}"
    create_ledger_table(client, table)
    yield Stores(DynamoDbJobs(client, table, kept_days=90), DynamoDbProofs(client, table))
    client.delete_table(TableName=table)


def make_job(number: int = 0) -> Job:
    return Job(
        id=f"job-{number}",
        source="articles",
        target="default",
        only=Only.STALE,
        segments=3,
        by="me",
        reason="because",
        created_ms=NOW_MS + number,
        estimate=Estimate(items=10, documents=5, tokens=100, seconds=2.5),
    )


def test_job_is_kept_with_all_that_it_says(stores: Stores) -> None:
    """R43: what, by whom, why, estimate and state."""
    stores.jobs.create(make_job())

    assert stores.jobs.read("job-0") == make_job()
    assert stores.jobs.read("another") is None
    segments = stores.jobs.segments(make_job())
    assert [(one.number, one.after, one.saved_ms) for one in segments] == [
        (number, None, NOW_MS) for number in range(3)
    ]


def test_jobs_are_listed_newest_first(stores: Stores) -> None:
    """R43: as `embedq jobs` shows them."""
    for number in (2, 1, 3):
        stores.jobs.create(make_job(number))

    assert [job.id for job in stores.jobs.listed()] == ["job-3", "job-2", "job-1"]


def test_segment_is_saved_once_at_each_revision(stores: Stores) -> None:
    """R43: of two runs with one segment, one goes on."""
    stores.jobs.create(make_job())
    first = stores.jobs.segments(make_job())[1]
    key = {"id": {"B": "AAE="}, "at": {"N": "7"}}
    moved = first.advanced(key, scanned=200, sent=150, on_their_way=3)

    saved = stores.jobs.save(moved, now_ms=NOW_MS + 9)

    assert saved == replace(moved, revision=first.revision + 1, saved_ms=NOW_MS + 9)
    assert stores.jobs.segments(make_job())[1] == saved
    assert stores.jobs.save(moved, now_ms=NOW_MS + 10) is None


def test_state_changes_only_from_the_states_before(stores: Stores) -> None:
    """R43: a job that has ended is not paused."""
    stores.jobs.create(make_job())

    assert stores.jobs.set_state("job-0", JobState.PAUSED, before=RUNNING, now_ms=1)
    assert not stores.jobs.set_state("job-0", JobState.DONE, before=RUNNING, now_ms=2)
    paused = (JobState.PAUSED,)
    assert stores.jobs.set_state("job-0", JobState.FAILED, before=paused, now_ms=3, failure="x")
    assert not stores.jobs.set_state("another", JobState.DONE, before=RUNNING, now_ms=4)

    job = stores.jobs.read("job-0")
    assert job == replace(make_job(), state=JobState.FAILED, failure="x")
    failed = (JobState.FAILED,)
    assert stores.jobs.set_state("job-0", JobState.CANCELLED, before=failed, now_ms=5)
    ended = stores.jobs.read("job-0")
    assert ended is not None
    assert (ended.state, ended.ended_ms) == (JobState.CANCELLED, 5)


@pytest.mark.engines
def test_no_part_of_a_job_expires_before_it_has_ended(request: pytest.FixtureRequest) -> None:
    """R43: a job that is paused for longer than `retention.jobs` is not done, but goes on."""
    client = local_client("dynamodb", engine_url(request, "dynamodb_url"))
    table = f"ledger-{uuid4()}"
    create_ledger_table(client, table)
    jobs = DynamoDbJobs(client, table, kept_days=1)

    def expiries() -> set[str | None]:
        items = client.scan(TableName=table)["Items"]
        return {item.get("expires_at", {}).get("N") for item in items}

    jobs.create(make_job())
    for segment in jobs.segments(make_job()):
        jobs.save(segment, now_ms=NOW_MS)
    assert expiries() == {None}

    assert jobs.set_state("job-0", JobState.CANCELLED, before=RUNNING, now_ms=NOW_MS)
    assert expiries() == {str(NOW_MS // 1000 + 86_400)}
    client.delete_table(TableName=table)


def test_proof_is_saved_once_at_each_revision(stores: Stores) -> None:
    """R56: of two runs with one pair, one goes on."""
    assert stores.proofs.read("default/articles") is None
    first = proof_for(None, days=1, now_ms=NOW_MS)
    moved = first.after_table_page({"id": {"S": "a"}})

    assert stores.proofs.save("default/articles", moved)
    assert not stores.proofs.save("default/articles", moved)

    assert stores.proofs.read("default/articles") == replace(moved, revision=1)
