"""Bulk bodies and their answers, on a server that answers as an OpenSearch in trouble does."""

import json
from typing import Any

import numpy as np
import pytest

from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.opensearch_index import MAX_BODY_BYTES, OpenSearchIndex
from functions.core.entry import Chunk, Entry, Written
from functions.core.failure import Failure, FailureError, FailureKind, MissingIndexError
from tests.contract.index_engines import entry, tombstone
from tests.unit.adapters.scripted_server import Answer, ScriptedServer


@pytest.fixture
def index(scripted: ScriptedServer) -> OpenSearchIndex:
    http = OpenSearchHttp(scripted.url, credentials=None, region="eu-central-1")
    return OpenSearchIndex(http, "articles")


def large(name: str, size: int) -> Entry:
    chunk = Chunk("x" * size, "h", np.ones(2, dtype=np.float32))
    return entry(name, chunks=(chunk,))


def bulk_answer(**statuses: int) -> Answer:
    items = [
        {"index": {"_id": f"articles/{name}", "status": status, "error": {"type": "some_error"}}}
        for name, status in statuses.items()
    ]
    return Answer(body=json.dumps({"errors": True, "items": items}).encode())


def test_bodies_are_cut_by_their_bytes(index: OpenSearchIndex, scripted: ScriptedServer) -> None:
    """R12: OpenSearch Service takes 10 MiB on small instances."""
    entries = [large(name, 3_000_000) for name in "abcde"]
    scripted.answers = [
        bulk_answer(a=201, b=201),
        bulk_answer(c=201, d=201),
        bulk_answer(e=201),
    ]

    results = index.write(entries, searchable_now=True)

    assert results == {one.entry_id: Written.WRITTEN for one in entries}
    assert [len(asked.body) < MAX_BODY_BYTES for asked in scripted.asked] == [True] * 3
    assert {asked.path for asked in scripted.asked} == {"/articles/_bulk?refresh=wait_for"}


def test_entry_above_the_limit_goes_alone(index: OpenSearchIndex, scripted: ScriptedServer) -> None:
    """R10: it may pass on a larger instance, and spoils no other."""
    scripted.answers = [bulk_answer(a=201), Answer(413), bulk_answer(c=201)]

    results = index.write(
        [large("a", 10), large("b", MAX_BODY_BYTES), large("c", 10)], searchable_now=False
    )

    assert [str(result) for result in results.values()] == [
        "written",
        str(Failure(FailureKind.RESOURCE, "OpenSearch answered 413 error: no reason given")),
        "written",
    ]
    assert {asked.path for asked in scripted.asked} == {"/articles/_bulk"}


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"items": []}', b'{"items": {}}'])
def test_answer_that_leaves_entries_out_is_that_of_an_index_that_is_down(
    index: OpenSearchIndex, scripted: ScriptedServer, body: bytes
) -> None:
    """R22 R35: not of one with bad documents; a proxy answers 200, too."""
    scripted.answers = [Answer(body=body)]

    results = index.write([entry("a"), entry("b")], searchable_now=False)

    assert {result.kind for result in results.values() if isinstance(result, Failure)} == {
        FailureKind.INDEX_UNAVAILABLE
    }
    assert len(results) == 2


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"docs": []}'])
def test_read_that_leaves_entries_out_is_that_of_an_index_that_is_down(
    index: OpenSearchIndex, scripted: ScriptedServer, body: bytes
) -> None:
    """R22 R35: taken for absent, they would be paid again."""
    scripted.answers = [Answer(body=body)]

    with pytest.raises(FailureError) as caught:
        index.read([entry("a").entry_id])

    assert caught.value.failure.kind is FailureKind.INDEX_UNAVAILABLE


def test_every_action_is_under_an_external_version_and_through_the_alias(
    index: OpenSearchIndex, scripted: ScriptedServer
) -> None:
    """R12: never external_gte, never an index made by accident."""
    scripted.answers = [bulk_answer(a=201, b=200)]

    index.write([entry("a", version=7), tombstone("b", version=8)], searchable_now=False)

    lines = [json.loads(line) for line in scripted.asked[0].body.splitlines()]
    assert [line["index"] for line in lines[::2]] == [
        {
            "_id": f"articles/{name}",
            "version": version,
            "version_type": "external",
            "require_alias": True,
        }
        for name, version in (("a", 7), ("b", 8))
    ]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FailureKind.INDEX_REJECTED),
        (403, FailureKind.INDEX_UNAVAILABLE),
        (404, FailureKind.INDEX_UNAVAILABLE),
        (429, FailureKind.INDEX_BUSY),
        (500, FailureKind.INDEX_UNAVAILABLE),
        (503, FailureKind.INDEX_UNAVAILABLE),
    ],
)
def test_item_of_a_bulk_has_its_own_failure(
    index: OpenSearchIndex, scripted: ScriptedServer, status: int, kind: FailureKind
) -> None:
    """R10 R12 R22: a bulk answers 200 whatever happened to its items."""
    scripted.answers = [bulk_answer(a=201, b=status, c=409)]

    results = index.write([entry(name) for name in "abc"], searchable_now=False)

    assert list(results.values()) == [
        Written.WRITTEN,
        Failure(kind, f"OpenSearch answered {status} some_error"),
        Written.CONFLICT,
    ]


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (Answer(429), Failure(FailureKind.INDEX_BUSY, "OpenSearch answered 429")),
        (Answer(502), Failure(FailureKind.INDEX_UNAVAILABLE, "OpenSearch: it answered 502")),
        (
            Answer(400, b'{"error": {"type": "parse", "reason": "quotes the text"}}'),
            Failure(FailureKind.INDEX_UNAVAILABLE, "OpenSearch answered 400 parse"),
        ),
    ],
    ids=["429", "502", "400"],
)
def test_failed_body_fails_its_own_entries_only(
    index: OpenSearchIndex, scripted: ScriptedServer, answer: Answer, failure: Failure
) -> None:
    """R10 R22: what other bodies of the same write have done stays done."""
    scripted.answers = [bulk_answer(a=201), answer]

    results = index.write([large("a", 5_000_000), large("b", 5_000_000)], searchable_now=False)

    assert list(results.values()) == [Written.WRITTEN, failure]


def test_read_that_one_shard_cannot_answer_is_a_failure(
    index: OpenSearchIndex, scripted: ScriptedServer
) -> None:
    """R13: a lost shard is no absent entry, whose vectors would be paid again."""
    error = {"type": "no_shard_available_action_exception"}
    docs = [{"_id": "articles/a", "found": False}, {"_id": "articles/b", "error": error}]
    scripted.answers = [Answer(body=json.dumps({"docs": docs}).encode())]

    with pytest.raises(FailureError) as caught:
        index.read([entry("a").entry_id, entry("b").entry_id])

    assert caught.value.failure == Failure(
        FailureKind.INDEX_UNAVAILABLE,
        "OpenSearch: reading answered no_shard_available_action_exception",
    )


@pytest.mark.parametrize(
    "damage",
    [
        {"chunks": [{"hash": "h0"}]},
        {"chunks": [{"hash": "h0", "vector": None}]},
        {"chunks": [{"vector": [1, 2]}, {"hash": "h0"}]},
        {},
    ],
    ids=["no vector", "null", "no hash", "no field at all"],
)
def test_damaged_entry_has_no_vector_to_take(
    index: OpenSearchIndex, scripted: ScriptedServer, damage: dict[str, Any]
) -> None:
    """R10 R45: its document is embedded again, and no other one fails with it."""
    good = {"deleted": False, "chunks": [{"hash": "h0", "vector": [1, 2]}]}
    sources = {entry("a").entry_id: damage, entry("b").entry_id: good}
    docs = [
        {"_id": name, "found": True, "_version": 1, "_source": source}
        for name, source in sources.items()
    ]
    scripted.answers = [Answer(body=json.dumps({"docs": docs}).encode())]

    stored = index.read(list(sources), hashes=["h0"])

    assert [len(one.vectors) for one in stored.values()] == [0, 1]


@pytest.mark.parametrize(
    ("status", "kind", "is_missing"),
    [
        (404, "index_not_found_exception", True),
        (404, "no_such_path", False),
        (403, "security_exception", False),
        (503, "busy", False),
    ],
)
def test_missing_index_is_told_from_one_that_may_not_be_read(
    index: OpenSearchIndex, scripted: ScriptedServer, status: int, kind: str, is_missing: bool
) -> None:
    """R13 R44: only what is gone has no vectors to take."""
    error = {"error": {"type": kind, "reason": "none"}}
    scripted.answers = [Answer(status, json.dumps(error).encode())] * 9

    with pytest.raises(FailureError) as caught:
        index.read([entry("a").entry_id])

    assert isinstance(caught.value, MissingIndexError) is is_missing


def test_removal_leaves_out_what_was_taken_meanwhile(
    index: OpenSearchIndex, scripted: ScriptedServer
) -> None:
    """R07 R31: a conflict is somebody newer's; 404 is gone, whoever did it."""
    docs = [
        {"_id": f"articles/{name}", "found": True, "_version": 7, "_source": {"deleted": True}}
        for name in "abc"
    ]
    statuses = {"a": 200, "b": 404, "c": 409}
    items = [{"delete": {"_id": f"articles/{n}", "status": s}} for n, s in statuses.items()]
    scripted.answers = [
        Answer(body=json.dumps({"docs": docs}).encode()),
        Answer(body=json.dumps({"errors": True, "items": items}).encode()),
    ]

    gone = index.remove({entry(name).entry_id: 7 for name in "abc"})

    assert gone == [entry("a").entry_id, entry("b").entry_id]
    assert [json.loads(line) for line in scripted.asked[1].body.splitlines()] == [
        {"delete": {"_id": f"articles/{name}", "version": 8, "version_type": "external"}}
        for name in "abc"
    ]


def test_nothing_is_removed_from_an_index_that_cannot_be_read(
    index: OpenSearchIndex, scripted: ScriptedServer
) -> None:
    """R07: on AWS a delete with an external version makes a missing index."""
    docs = [{"_id": "articles/a", "error": {"type": "index_not_found_exception"}}]
    scripted.answers = [Answer(body=json.dumps({"docs": docs}).encode())]

    with pytest.raises(FailureError, match="no index behind articles"):
        index.remove({entry("a").entry_id: 7})

    assert len(scripted.asked) == 1
