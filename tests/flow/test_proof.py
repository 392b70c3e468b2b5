"""Stories of drift: the hourly slices find it and mend it, on the in-memory engines."""

from dataclasses import replace

import pytest

from functions.backfill import prove
from functions.core.identity import DocumentId, entry_id
from functions.core.proof import Proof
from functions.core.settings import VerifySettings
from functions.core.verification import Kind
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline
from tests.flow.stories import texts, write

HOURS = 24


def hour(pipeline: MemoryPipeline) -> None:
    """Let an hour pass, with its slice."""
    pipeline.clock.advance(3600)
    pipeline.backfill.tick("proof")
    pipeline.run_errands()


def drifted(pipeline: MemoryPipeline) -> dict[str, str]:
    events = pipeline.telemetry.events
    return {
        fields["document_id"]: fields["difference"]
        for name, fields in events
        if name == "document_drifted"
    }


@pytest.fixture
def proven() -> MemoryPipeline:
    """Return forty documents that are compared within a day, and repaired."""
    pipeline = make_pipeline(verify=VerifySettings(days=1, repair=True))
    for number in range(40):
        write(pipeline, f"{number}", f"text {number}")
    pipeline.drain()
    return pipeline


def damage(pipeline: MemoryPipeline) -> dict[str, str]:
    """Damage one document in each way; return what is to be found."""
    entries = pipeline.indexes["default"].entries

    def change(name: str, **fields: object) -> None:
        key = entry_id("articles", DocumentId(name))
        entries[key] = replace(entries[key], **fields)  # type: ignore[arg-type]

    del entries[entry_id("articles", DocumentId("1"))]
    change("2", content_hash="another")
    change("3", content_hash="another", model="another")
    change("4", chunks=())
    change("5", version=entries[entry_id("articles", DocumentId("5"))].version + 1)
    ghost = entry_id("articles", DocumentId("ghost"))
    known = entries[entry_id("articles", DocumentId("6"))]
    entries[ghost] = replace(known, document_id=DocumentId("ghost"))
    return {
        "1": Kind.MISSING,
        "2": Kind.STALE,
        "3": Kind.WRONG_MODEL,
        "4": Kind.WITHOUT_VECTORS,
        "5": Kind.WRONG_VERSION,
        "ghost": Kind.ORPHANED,
    }


def test_planted_drift_is_found_and_mended_without_a_person(proven: MemoryPipeline) -> None:
    """R56: within the days that were asked for, each kind, and nothing else."""
    planted = damage(proven)

    for _ in range(HOURS):
        hour(proven)
    proven.drain()

    assert drifted(proven) == planted
    assert proven.telemetry.metrics["Drifted"] == len(planted)
    assert texts(proven) == {f"{number}": f"text {number}" for number in range(40)}
    for _ in range(HOURS):
        hour(proven)
    assert proven.telemetry.metrics["Drifted"] == len(planted)


def test_drift_is_only_reported_where_repair_is_off() -> None:
    """R56: a person decides."""
    pipeline = make_pipeline(verify=VerifySettings(days=1))
    write(pipeline, "a", "hello")
    pipeline.drain()
    pipeline.indexes["default"].entries.clear()

    for _ in range(HOURS):
        hour(pipeline)
    pipeline.drain()

    assert (drifted(pipeline), texts(pipeline)) == ({"a": "missing"}, {})


def test_what_is_on_its_way_or_has_failed_is_no_drift(proven: MemoryPipeline) -> None:
    """R56: the ledger says why it is not in the index."""
    write(proven, "open", "not worked yet")
    write(proven, "bad", b"no text")
    proven.deliver_new()
    proven.run("default/delete")

    for _ in range(HOURS):
        hour(proven)

    assert drifted(proven) == {}


def test_age_of_the_oldest_proof_is_told(proven: MemoryPipeline) -> None:
    """R56: it stays at a day while slices are compared, and grows where none is."""
    ages = []
    for _ in range(3 * HOURS):
        before = proven.telemetry.metrics["OldestVerifiedSeconds"]
        hour(proven)
        ages.append(proven.telemetry.metrics["OldestVerifiedSeconds"] - before)

    assert max(ages) == pytest.approx((HOURS - 1) * 3600, rel=0.01)
    proven.clock.advance(3 * 86_400)
    before = proven.telemetry.metrics["OldestVerifiedSeconds"]
    hour(proven)
    assert proven.telemetry.metrics["OldestVerifiedSeconds"] - before > 3 * 86_400


def test_slice_that_is_cut_off_goes_on(proven: MemoryPipeline) -> None:
    """R56: a slice may take many runs; what is damaged is found all the same."""
    planted = damage(proven)

    for _ in range(HOURS):
        proven.clock.advance(3600)
        proven.backfill.tick("proof")
        for _ in range(10):
            proven.run_errands(seconds=60)

    assert drifted(proven) == planted


def test_run_looks_again_at_no_more_than_it_has_time_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R56: of an index that is empty all documents drift; they are found run by run."""
    monkeypatch.setattr(prove, "PAGE_ITEMS", 1)
    monkeypatch.setattr(prove, "MOST_SUSPECTS", 2)
    pipeline = make_pipeline(verify=VerifySettings(days=1))
    for number in range(200):
        write(pipeline, f"{number}", f"text {number}")
    pipeline.drain()
    pipeline.indexes["default"].entries.clear()

    pipeline.backfill.tick("proof")
    found = []
    while (errand := pipeline.errands.take()) is not None:
        known = len(drifted(pipeline))
        pipeline.backfill.run(errand, pipeline.seconds_left(60.0))
        found.append(len(drifted(pipeline)) - known)

    assert max(found) == 2
    assert sum(found) > 2


def test_slice_of_a_table_that_was_replaced_begins_anew(proven: MemoryPipeline) -> None:
    """R56: the new table cannot go on behind a key of the old one, and the proof goes on."""
    planted = damage(proven)
    proofs = proven.backfill.prove.proofs
    middle = Proof((proven.clock(),) * HOURS, after={"former": {"S": "a"}})
    proofs.save("default/articles", middle)

    for _ in range(HOURS):
        hour(proven)

    assert drifted(proven) == planted


def test_switched_off_nothing_is_compared() -> None:
    """R56: verify.days 0."""
    pipeline = make_pipeline(verify=VerifySettings(days=0))

    pipeline.backfill.tick("proof")

    assert len(pipeline.errands) == 0
