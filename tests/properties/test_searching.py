"""What a reader finds: always what is there, and at once what has been completed."""

from hypothesis import given
from hypothesis import strategies as st

from functions.core.failure import FailureKind
from functions.core.ledger_row import LedgerRow, Status
from tests.properties.articles import CHARGED, WRITES, Articles, Write, failures_of, thorough


@given(
    before=WRITES,
    during=WRITES,
    failures=st.lists(CHARGED | st.just(FailureKind.INVALID_INPUT), max_size=4),
)
@thorough
def test_search_availability_during_processing(
    before: list[Write], during: list[Write], failures: list[FailureKind]
) -> None:
    """R80 property 9: pending, running and failing tasks take nothing away that was found."""
    articles = Articles()
    for write in before:
        articles.write(write)
    articles.finish()
    known = articles.wanted()

    def look() -> None:
        begun_ms, asked = articles.pipeline.clock(), len(articles.provider.requests)
        hits = {name: text for name, (text, _) in articles.found("alpha").items()}
        # What has been deleted or emptied meanwhile may be gone already, and nothing else.
        kept = {name: text for name, text in known.items() if articles.written.get(name)}
        assert hits.items() >= kept.items()
        assert hits.keys() <= known.keys()
        assert (articles.pipeline.clock(), len(articles.provider.requests)) == (begun_ms, asked)

    for write in during:
        articles.write(write)
        look()
    articles.pipeline.deliver_new()
    look()
    articles.provider.failures = failures_of([*failures, *[FailureKind.PROVIDER_ERROR] * 50])
    articles.provider.meanwhile = look
    for _ in range(3):
        articles.work()
        look()
        articles.pipeline.clock.advance(2)
    articles.finish()

    # What was refused for good stays as it was until it is written again.
    if FailureKind.INVALID_INPUT not in failures:
        assert articles.searchable() == articles.wanted()


@given(
    parts=st.lists(WRITES, min_size=1, max_size=4),
    failures=st.lists(st.none() | CHARGED, max_size=8),
)
@thorough
def test_search_index_consistency_after_completion(
    parts: list[list[Write]], failures: list[FailureKind | None]
) -> None:
    """R80 property 10: what the ledger calls completed is found by the very next search."""
    articles = Articles(failures)
    completed: list[str] = []

    def find(row: LedgerRow) -> None:
        if row.status is Status.COMPLETED:
            # A run reads the article as it stands, which may be newer than its task.
            text = articles.written[row.task.document_id]
            found, score = articles.found(text)[row.task.document_id]
            assert found == text
            assert score > 0.999
            completed.append(row.task.document_id)
        if row.status in (Status.DELETED, Status.SKIPPED):
            assert row.task.document_id not in articles.found("alpha")

    articles.ledger.watch = find
    for part in parts:
        for write in part:
            articles.write(write)
        articles.pipeline.deliver_new()
        articles.work()
        articles.pipeline.clock.advance(1)
    articles.pipeline.drain()

    rows = articles.rows().items()
    assert {name for name, row in rows if row.status is Status.COMPLETED} <= set(completed)
