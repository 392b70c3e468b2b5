"""The index port: entries under external versions, read back for reuse."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from functions.core.entry import Entry, Tombstone, Written
from functions.core.failure import Failure, FailureKind
from functions.core.identity import DocumentId, EntryId
from tests.builders import NOW_MS
from tests.contract.engines import real
from tests.contract.index_engines import (
    DIMENSIONS,
    IndexEngine,
    entry,
    index_engine,
    tombstone,
    vector,
)

REJECTED = Failure(FailureKind.INDEX_REJECTED, "OpenSearch answered 400 mapper_parsing_exception")


@pytest.fixture(params=["memory", real("opensearch")])
def engine(request: pytest.FixtureRequest) -> Iterator[IndexEngine]:
    with index_engine(request, request.param) as engine:
        yield engine


def write(engine: IndexEngine, *entries: Entry | Tombstone) -> list[object]:
    results = engine.index.write(entries, searchable_now=False)
    return [results[one.entry_id] for one in entries]


def test_entry_is_read_back_with_its_vectors(engine: IndexEngine) -> None:
    """R06 R11: one document, one entry, all its chunks."""
    one, two = vector(0.1, -0.2, 3e-8, 1), vector(1, 2, 3, 4)
    written = entry("a", one, two, metadata={"language": "de"})

    assert write(engine, written) == [Written.WRITTEN]

    [stored] = engine.index.read([written.entry_id], hashes=["h0", "h1", "h2"]).values()
    assert (stored.version, stored.deleted, stored.chunks) == (NOW_MS, False, 2)
    assert (stored.content_hash, stored.reason) == ("hash of a", None)
    assert {name: kept.tolist() for name, kept in stored.vectors.items()} == {
        "h0": one.tolist(),
        "h1": two.tolist(),
    }


def test_only_vectors_that_are_wanted_are_read(engine: IndexEngine) -> None:
    """R06: those of chunks that the new text has, too; the entry itself is always known."""
    written = entry("a", vector(1, 0, 0, 0), vector(0, 1, 0, 0))
    write(engine, written)

    [one] = engine.index.read([written.entry_id], hashes={"h1", "new"}).values()
    [none] = engine.index.read([written.entry_id]).values()

    assert (list(one.vectors), one.chunks) == (["h1"], 2)
    assert (none.vectors, none.chunks, none.content_hash) == ({}, 2, "hash of a")


def test_absent_entries_are_left_out(engine: IndexEngine) -> None:
    """R06: nothing to reuse."""
    write(engine, entry("a"))

    found = engine.index.read([entry("a").entry_id, entry("b").entry_id])

    assert set(found) == {entry("a").entry_id}
    assert engine.index.read([]) == {}


def test_many_entries_are_read_at_once(engine: IndexEngine) -> None:
    """R06: as many as a round has."""
    entries = [entry(f"d{number}", version=number + 1) for number in range(45)]
    write(engine, *entries)

    found = engine.index.read([one.entry_id for one in entries])

    assert {name: stored.version for name, stored in found.items()} == {
        one.entry_id: one.version for one in entries
    }


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-1e6, max_value=1e6)
VECTORS = st.lists(FLOATS, min_size=DIMENSIONS, max_size=DIMENSIONS).map(
    lambda numbers: np.array(numbers, dtype=np.float32)
)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    vectors=st.lists(
        VECTORS.filter(lambda one: bool(np.linalg.norm(one) > 1e-15)), min_size=1, max_size=40
    )
)
def test_vectors_come_back_bit_for_bit(
    engine: IndexEngine, vectors: list["np.ndarray[tuple[int], np.dtype[np.float32]]"]
) -> None:
    """R06: a reused vector is the one that was paid."""
    engine.index.write([tombstone("a", version=1)], searchable_now=False)
    before = engine.index.read([tombstone("a").entry_id])[tombstone("a").entry_id].version
    written = entry("a", *vectors, version=before + 1)

    assert write(engine, written) == [Written.WRITTEN]

    [stored] = engine.index.read(
        [written.entry_id], hashes=[f"h{n}" for n in range(len(vectors))]
    ).values()
    assert [stored.vectors[f"h{n}"].tobytes() for n in range(len(vectors))] == [
        one.tobytes() for one in vectors
    ]


@pytest.mark.parametrize(
    ("version", "result"),
    [
        pytest.param(NOW_MS - 1, Written.CONFLICT, id="lower"),
        # A run that crashed has written it: completed from what stands there.
        pytest.param(NOW_MS, Written.CONFLICT, id="equal"),
        pytest.param(NOW_MS + 1, Written.WRITTEN, id="higher"),
    ],
)
def test_only_a_higher_version_is_written(
    engine: IndexEngine, version: int, result: Written
) -> None:
    """R12 R31: a late task never replaces what a newer one wrote."""
    write(engine, entry("a", content_hash="first"))

    assert write(engine, entry("a", version=version, content_hash="second")) == [result]

    [stored] = engine.index.read([entry("a").entry_id]).values()
    expected = ("second", version) if result is Written.WRITTEN else ("first", NOW_MS)
    assert (stored.content_hash, stored.version) == expected


@pytest.mark.parametrize("reason", [None, "attribute hidden asks to skip it"])
def test_tombstone_replaces_an_entry(engine: IndexEngine, reason: str | None) -> None:
    """R07: no text and no vectors are left."""
    write(engine, entry("a"))

    assert write(engine, tombstone("a", version=NOW_MS + 1, reason=reason)) == [Written.WRITTEN]

    [stored] = engine.index.read([entry("a").entry_id]).values()
    assert (stored.version, stored.deleted, stored.reason) == (NOW_MS + 1, True, reason)
    assert (stored.vectors, stored.chunks) == ({}, 0)
    assert stored.content_hash == "hash of a tombstone"


def test_tombstone_keeps_its_version_for_ever(engine: IndexEngine) -> None:
    """R07: a late older run meets 409 also after gc_deletes, a refresh and a merge."""
    write(engine, entry("a", version=1))
    write(engine, tombstone("a", version=9))
    engine.forget()

    assert write(engine, entry("a", version=8)) == [Written.CONFLICT]
    assert write(engine, tombstone("a", version=9)) == [Written.CONFLICT]
    assert write(engine, entry("a", version=10)) == [Written.WRITTEN]


def test_removed_tombstone_is_gone(engine: IndexEngine) -> None:
    """R07: the index forgets it, under the version above its own; so may a second try find."""
    stones = [tombstone(name, version=9) for name in "ab"]
    write(engine, *stones)
    wanted = {stone.entry_id: stone.version for stone in stones}

    assert set(engine.index.remove(wanted)) == set(wanted)

    assert engine.index.read(list(wanted)) == {}
    engine.forget()
    assert set(engine.index.remove(wanted)) == set(wanted)
    assert write(engine, entry("a", version=NOW_MS)) == [Written.WRITTEN]


def test_version_of_a_removal_is_known_until_the_index_forgets_it(engine: IndexEngine) -> None:
    """R07: so only a tombstone keeps a late older run away for good."""
    stone = tombstone("a", version=9)
    write(engine, stone)
    engine.index.remove({stone.entry_id: stone.version})

    assert write(engine, entry("a", version=9)) == [Written.CONFLICT]

    engine.forget()
    assert write(engine, entry("a", version=9)) == [Written.WRITTEN]


def test_only_old_tombstones_are_removed(engine: IndexEngine) -> None:
    """R07 R31: an entry stays, and so does a tombstone of a newer delete."""
    kept: list[Entry | Tombstone] = [entry("live", version=9), tombstone("newer", version=10)]
    write(engine, *kept, tombstone("older", version=8))
    names = ("live", "newer", "older", "absent")

    gone = engine.index.remove({tombstone(name).entry_id: 9 for name in names})

    assert set(gone) == {tombstone("older").entry_id, tombstone("absent").entry_id}
    assert set(engine.index.read([tombstone(name).entry_id for name in names])) == {
        one.entry_id for one in kept
    }


def test_nothing_to_remove_is_nothing_done(engine: IndexEngine) -> None:
    """R10: a round without work of its own."""
    assert engine.index.remove({}) == []


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(vector(1, 2, 3), id="too few dimensions"),
        pytest.param(vector(1, 2, 3, 4, 5), id="too many dimensions"),
        pytest.param(vector(0, 0, 0, 0), id="all zeros"),
    ],
)
def test_refused_vector_fails_alone(
    engine: IndexEngine, bad: "np.ndarray[tuple[int], np.dtype[np.float32]]"
) -> None:
    """R10 R12: a mapping error is permanent, and of one document."""
    results = write(engine, entry("a"), entry("b", bad), entry("c"))

    assert results == [Written.WRITTEN, REJECTED, Written.WRITTEN]
    assert set(engine.index.read([entry(name).entry_id for name in "abc"])) == {
        entry("a").entry_id,
        entry("c").entry_id,
    }


def test_results_of_one_bulk_are_each_entrys_own(engine: IndexEngine) -> None:
    """R10 R12: written, conflict and rejected side by side."""
    write(engine, entry("old"))

    results = write(engine, entry("new"), entry("old"), entry("bad", vector(1)), tombstone("gone"))

    assert results == [Written.WRITTEN, Written.CONFLICT, REJECTED, Written.WRITTEN]


def test_more_than_one_body_takes(engine: IndexEngine) -> None:
    """R12: bodies are cut by their bytes, and every entry has its result."""
    text = "word " * 600_000
    entries = [entry(name) for name in "abc"]
    large = [
        Entry(**{**vars(one), "chunks": (type(one.chunks[0])(text, "h0", vector(1, 0, 0, 0)),)})
        for one in entries
    ]

    assert write(engine, *large) == [Written.WRITTEN] * 3
    assert len(engine.index.read([one.entry_id for one in large])) == 3


AWKWARD = {
    "slashes": "a/b//c/../d",
    "percent": "100%25 %2F %",
    "query": "a?b=c&d#e",
    "unicode": "ключ 鍵 👩‍👩‍👧",
    "control characters": "\x00\x01\n\r\t\x7f",
    "quotes": "\"'\\",
    "underscore first": "_bulk",
    "dots": "..",
    "hash": "#" + "0" * 64,
    "512 bytes with the source": "x" * (512 - len("articles/")),
    "one more": "x" * (513 - len("articles/")),
    "2,048 bytes": "ä" * 1024,
}


def test_document_id_may_have_any_character(engine: IndexEngine) -> None:
    """R02: OpenSearch takes ids of 512 bytes; each document keeps an entry of its own."""
    written = {kind: entry(name) for kind, name in AWKWARD.items()}
    ids = {one.entry_id for one in written.values()}
    assert len(ids) == len(AWKWARD)

    first, second = (
        dict(zip(AWKWARD, write(engine, *written.values()), strict=True)) for _ in range(2)
    )

    assert first == dict.fromkeys(AWKWARD, Written.WRITTEN)
    assert second == dict.fromkeys(AWKWARD, Written.CONFLICT)
    assert set(engine.index.read(list(ids))) == ids


def test_entries_of_two_sources_are_two(engine: IndexEngine) -> None:
    """R14: an index may be shared."""
    one, other = entry("a"), entry("a", source="messages")

    assert write(engine, one, other) == [Written.WRITTEN] * 2
    assert engine.index.read([one.entry_id, other.entry_id]).keys() == {
        EntryId("articles/a"),
        EntryId("messages/a"),
    }


def test_metadata_outside_the_mapping_is_kept_and_harmless(engine: IndexEngine) -> None:
    """R12: a field that nobody configured neither fails nor grows the mapping."""
    odd = entry("a", metadata={"language": ["de", "en"], "unknown": {"deep": [1, "two"]}})

    assert write(engine, odd) == [Written.WRITTEN]


def test_document_id_is_found_in_the_entry(engine: IndexEngine) -> None:
    """R02: a hashed entry id is for the index only; a search shows the real one."""
    name = "ä" * 1024
    engine.index.write([entry(name)], searchable_now=True)

    assert [hit.document_id for hit in engine.search(vector(1, 0, 0, 0))] == [DocumentId(name)]
