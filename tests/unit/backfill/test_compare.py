"""What is looked at twice before it is called a difference, and what is owed for one."""

from dataclasses import replace

import pytest

from functions.backfill.compare import ROUND_DOCUMENTS, SETTLE_SECONDS, Compare, Difference
from functions.backfill.repair import owed_for
from functions.core.entry import StoredEntry
from functions.core.identity import DocumentId, bucket_of, entry_id
from functions.core.lane import Lane
from functions.core.verification import Kind, Sighting
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline
from tests.flow.stories import write

NAMES = [DocumentId(f"{number}") for number in range(ROUND_DOCUMENTS + 5)]


@pytest.fixture
def pipeline() -> MemoryPipeline:
    """Return documents in the table that the stream has forgotten: each is a suspect."""
    made = make_pipeline()
    for name in NAMES:
        write(made, name, f"text {name}")
    made.read["articles"] = len(made.tables["articles"].stream)
    return made


@pytest.fixture
def compare(pipeline: MemoryPipeline) -> Compare:
    return pipeline.backfill.backfill.compares["default/articles"]


def items(compare: Compare) -> list[DocumentId]:
    page = compare.table.scan(compare.pair.source, segment=0, segments=1, after=None, most=1000)
    return compare.suspects_among_items(page.items)


def open_one(pipeline: MemoryPipeline) -> DocumentId:
    """Write a document once more; its task waits in the lane."""
    write(pipeline, NAMES[0], "on its way")
    pipeline.deliver_new()
    return NAMES[0]


def test_items_of_the_chosen_buckets_are_suspects(compare: Compare) -> None:
    """R45: the others have equal sums."""
    page = compare.table.scan(compare.pair.source, segment=0, segments=1, after=None, most=1000)
    chosen = {bucket_of(entry_id("articles", name)) for name in NAMES[:3]}

    found = compare.suspects_among_items(page.items, chosen)

    wanted = [name for name in NAMES if bucket_of(entry_id("articles", name)) in chosen]
    assert sorted(found) == sorted(wanted)
    assert len(found) < len(NAMES)
    assert sorted(items(compare)) == sorted(NAMES)


def test_what_is_on_its_way_is_no_suspect(pipeline: MemoryPipeline, compare: Compare) -> None:
    """R45 R56: the ledger says why; neither at first nor at the second look."""
    waiting = open_one(pipeline)

    assert waiting not in items(compare)
    assert [one.document_id for one in compare.confirmed([waiting, NAMES[1]])] == [NAMES[1]]


def test_entry_whose_item_is_there_is_no_suspect(
    pipeline: MemoryPipeline, compare: Compare
) -> None:
    """R45: only what no item asks for."""
    for name in NAMES[:2]:
        write(pipeline, name, f"another text {name}")
    pipeline.drain()
    [first, second] = compare.index.page("articles", after=None, most=10)
    ghost = replace(second, document_id=DocumentId("ghost"))

    assert compare.suspects_among_entries([first, ghost]) == ["ghost"]


def test_second_look_waits_once_and_names_each_once(
    pipeline: MemoryPipeline, compare: Compare
) -> None:
    """R45: for what was written a moment ago; without suspects there is no wait."""
    before = pipeline.clock()
    assert list(compare.confirmed([])) == []
    assert pipeline.clock() == before

    found = list(compare.confirmed([*NAMES, *NAMES]))

    assert [one.document_id for one in found] == NAMES
    assert {one.kind for one in found} == {Kind.MISSING}
    assert found[0].key == {"id": {"S": "0"}}
    assert pipeline.clock() - before == pytest.approx(SETTLE_SECONDS * 1000)


@pytest.mark.parametrize(
    ("kind", "entry", "lane", "version"),
    [
        (Kind.MISSING, None, Lane.BULK, 0),
        (Kind.STALE, StoredEntry(7, False, "x"), Lane.BULK, 7),
        (Kind.ORPHANED, StoredEntry(9, False, "x"), Lane.DELETE, 9),
    ],
)
def test_repair_is_above_the_version_that_the_index_holds(
    compare: Compare, kind: Kind, entry: StoredEntry | None, lane: Lane, version: int
) -> None:
    """R45 R56: or OpenSearch would refuse it; what no item asks for is deleted."""
    found = Difference(kind, Sighting(NAMES[0], None, entry), {"id": {"S": "0"}})

    owed = owed_for(found, compare.pair)

    assert (owed.lane, owed.above_version, owed.document_id) == (lane, version, NAMES[0])
