"""Stories of tenants that share a target: what one uses up is not taken from the others."""

from functions.core.budget import Caps, Cost, Spent
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.lane import Lane
from functions.core.ledger_row import Group, LedgerRow, Status
from functions.core.names import tenant_item
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline
from tests.fake_embedder import FakeEmbedder
from tests.flow.stories import paid_texts, row, texts, write

CAP = 100
DAY_SECONDS = 24 * 3600


def make(**budget: object) -> tuple[MemoryPipeline, FakeEmbedder]:
    embedder = FakeEmbedder()
    pipeline = make_pipeline(
        source={"tenant_attribute": "customer", "priority_attribute": "priority"},
        target={"budget": {"tenant_tokens_per_day": CAP, **budget}, "chunk_tokens": 16},
        embedders={"default": embedder},
    )
    return pipeline, embedder


def run(pipeline: MemoryPipeline) -> None:
    pipeline.deliver_new()
    while pipeline.run_all():
        pass


def spent(pipeline: MemoryPipeline, tenant: str) -> int:
    return pipeline.control.read(tenant_item("default", tenant)).spent.tokens


def waiting(pipeline: MemoryPipeline) -> list[LedgerRow]:
    return [one for one in pipeline.ledger.rows.values() if one.group is Group.PARKED]


def test_tenant_above_its_budget_waits_for_the_next_day_and_the_others_do_not() -> None:
    """R19: no attempt is spent, no breaker opens, and the reason names the day."""
    pipeline, _ = make()
    for n in range(40):
        write(pipeline, f"loud{n}", f"text number {n}", customer="loud")
    for n in range(5):
        write(pipeline, f"quiet{n}", f"another text {n}", customer="quiet")
    run(pipeline)

    parked = waiting(pipeline)
    assert CAP / 2 < spent(pipeline, "loud") <= CAP
    assert {one.task.tenant for one in parked} == {"loud"}
    assert {one.progress.attempts for one in parked} == {0}
    assert {one.errors[-1].kind for one in parked} == {FailureKind.TENANT_BUDGET}
    assert "are used up until 2023-11-15 00:00 UTC" in parked[0].errors[-1].message
    assert all(row(pipeline, f"quiet{n}").status is Status.COMPLETED for n in range(5))
    assert not pipeline.control.read("default").provider.state.stops_work

    pipeline.drain()

    assert len(texts(pipeline)) == 45
    assert pipeline.queues.dead_letters() == []


def test_what_waited_comes_back_in_the_lane_that_is_fair_to_tenants() -> None:
    """R19: the flood of a new day is not in front of another tenant's live writes."""
    pipeline, _ = make()
    for n in range(40):
        write(pipeline, f"d{n}", f"text number {n}", customer="loud", priority="high")

    run(pipeline)

    assert {one.task.lane for one in waiting(pipeline)} == {Lane.BULK}


def test_document_larger_than_a_tenants_day_is_paid_over_several() -> None:
    """R19 R13: what each day has paid is kept."""
    pipeline, embedder = make()
    body = " ".join(f"Sentence number {n} is about subject {n * 7}." for n in range(16))
    write(pipeline, "long", body, customer="one")

    pipeline.drain()

    assert row(pipeline, "long").status is Status.COMPLETED
    assert len(paid_texts(embedder)) == len(set(paid_texts(embedder)))


def test_each_of_several_tenants_above_their_budgets_is_told() -> None:
    """R19: in one batch, and what was not bought is not counted as reused."""
    pipeline, embedder = make()
    for name in ("loud", "louder"):
        write(pipeline, name, f"a text of {name}", customer=name)
        pipeline.control.reserve(
            tenant_item("default", name), Spent(), Cost(CAP), Caps(), now_ms=pipeline.clock()
        )

    run(pipeline)

    assert {one.task.tenant for one in waiting(pipeline)} == {"loud", "louder"}
    assert {one.errors[-1].kind for one in waiting(pipeline)} == {FailureKind.TENANT_BUDGET}
    assert embedder.requests == []
    assert pipeline.telemetry.metrics["ChunksReused"] == 0


def test_tenant_is_that_of_the_item_that_is_read() -> None:
    """R19 R35: the item may have got another one since its task was sent."""
    pipeline, _ = make()
    write(pipeline, "a", "a text", customer="before")
    pipeline.deliver_new()
    write(pipeline, "a", "a text", customer="after")
    while pipeline.run_all():
        pass

    assert row(pipeline, "a").task.tenant == "after"
    assert (spent(pipeline, "before"), spent(pipeline, "after") > 0) == (0, True)


def test_documents_without_a_tenant_have_no_limit_of_their_own() -> None:
    """R19: only the target's budget holds for them."""
    pipeline, _ = make()
    for n in range(40):
        write(pipeline, f"d{n}", f"text number {n}")

    run(pipeline)

    assert len(texts(pipeline)) == 40


def test_text_that_two_tenants_share_is_paid_by_the_one_that_can() -> None:
    """R19 R35: a tenant that has used up its day takes no other with it."""
    pipeline, _ = make()
    for n in range(40):
        write(pipeline, f"d{n}", f"text number {n}", customer="loud")
    run(pipeline)
    write(pipeline, "theirs", "the same words", customer="loud")
    write(pipeline, "mine", "the same words", customer="quiet")

    run(pipeline)

    assert row(pipeline, "mine").status is Status.COMPLETED
    assert row(pipeline, "theirs").status is not Status.FAILED


def test_mass_of_one_tenant_does_not_hold_back_what_else_is_parked() -> None:
    """R19 R35: all of it is due, its new day is used up, and the others have no tenant."""
    pipeline, embedder = make()
    for n in range(400):
        write(pipeline, f"loud{n}", f"text number {n}", customer="loud", priority="bulk")
    run(pipeline)
    pipeline.clock.advance(DAY_SECONDS)
    item = tenant_item("default", "loud")
    spent_before = pipeline.control.read(item).spent
    now_ms = pipeline.clock()
    pipeline.control.reserve(item, spent_before, Cost(CAP), Caps(), now_ms=now_ms)
    embedder.always = FailureError(Failure(FailureKind.CONFIGURATION, "a wrong key for a moment"))
    for n in range(30):
        write(pipeline, f"other{n}", f"another text {n}", priority="bulk")
    run(pipeline)
    embedder.always = None

    for _ in range(30):
        pipeline.clock.advance(60)
        pipeline.reconcile()
        pipeline.sweep("due", 60.0)
        run(pipeline)

    assert {row(pipeline, f"other{n}").status for n in range(30)} == {Status.COMPLETED}
    assert row(pipeline, "loud399").status is Status.PENDING
