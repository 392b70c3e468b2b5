"""A probe: one small try at each part, past the breakers."""

from collections.abc import Sequence

import pytest

from functions.core.entry import Entry, Tombstone, WriteResult
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import DocumentId, EntryId
from functions.core.ports import Embedded
from functions.embed.probe import probe
from local.memory.index import HashedEmbedder, MemoryIndex
from tests.builders import NOW_MS
from tests.fake_embedder import FakeEmbedder


def test_healthy_parts_pass() -> None:
    """R25: with a tiny request and a tombstone that no search finds."""
    embedder, index = HashedEmbedder(16), MemoryIndex(16)

    answer = probe(["provider", "index"], embedder=embedder, index=index, clock=lambda: NOW_MS)

    assert answer == {"provider": None, "index": None}
    assert embedder.requests == [["probe"]]
    assert index.entries == {
        EntryId("embedq/probe"): Tombstone(
            "embedq", DocumentId("probe"), NOW_MS, None, "a probe", NOW_MS
        )
    }
    assert index.search(HashedEmbedder(16).embed(["probe"], timeout_seconds=1).vectors[0]) == []


def test_only_the_parts_in_question_are_tried() -> None:
    """R25: a provider that is down need not be paid to try the index."""
    embedder, index = HashedEmbedder(16), MemoryIndex(16)

    answer = probe(["index"], embedder=embedder, index=index, clock=lambda: NOW_MS)

    assert answer == {"index": None}
    assert embedder.requests == []


def test_probe_may_be_sent_again_at_the_same_time() -> None:
    """R25: a conflict is an answer of a healthy index."""
    index = MemoryIndex(16)

    answers = [
        probe(["index"], embedder=HashedEmbedder(16), index=index, clock=lambda: NOW_MS)
        for _ in range(2)
    ]

    assert answers == [{"index": None}] * 2


def test_index_that_refreshes_late_is_healthy() -> None:
    """R25: a probe need not be found, so it does not wait for that."""

    class Late(MemoryIndex):
        def write(
            self, entries: Sequence[Entry | Tombstone], *, searchable_now: bool
        ) -> dict[EntryId, WriteResult]:
            if searchable_now:
                raise FailureError(Failure(FailureKind.INDEX_UNAVAILABLE, "timed out"))
            return super().write(entries, searchable_now=searchable_now)

    answer = probe(["index"], embedder=HashedEmbedder(16), index=Late(16), clock=lambda: NOW_MS)

    assert answer == {"index": None}


def test_answer_without_a_vector_is_a_failure() -> None:
    """R25: a provider that answers with something else does not work again."""

    class Wrong(HashedEmbedder):
        def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
            super().embed(texts, timeout_seconds=timeout_seconds)
            return Embedded([Failure(FailureKind.PROVIDER_ERROR, "3 numbers, not 16")], 1)

    answer = probe(["provider"], embedder=Wrong(16), index=MemoryIndex(16), clock=lambda: NOW_MS)

    assert answer == {"provider": "provider_error: 3 numbers, not 16"}


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        (FailureKind.PROVIDER_ERROR, "provider_error: as told"),
        (FailureKind.CONFIGURATION, "configuration: as told"),
        (FailureKind.THROTTLED, None),
    ],
)
def test_failure_of_the_provider_is_told(kind: FailureKind, failure: str | None) -> None:
    """R25: throttling is an answer; the cooldown knows what to do with it."""
    answer = probe(
        ["provider"],
        embedder=FakeEmbedder(always=FailureError(Failure(kind, "as told"))),
        index=MemoryIndex(16),
        clock=lambda: NOW_MS,
    )

    assert answer == {"provider": failure}


def test_failure_of_the_index_is_told() -> None:
    """R25: also one that comes as the result of the entry."""
    failure = Failure(FailureKind.INDEX_BUSY, "OpenSearch answered 429")

    class Busy(MemoryIndex):
        def write(
            self,
            entries: Sequence[Entry | Tombstone],
            *,
            searchable_now: bool,  # noqa: ARG002
        ) -> dict[EntryId, WriteResult]:
            return {entry.entry_id: failure for entry in entries}

    answer = probe(["index"], embedder=HashedEmbedder(16), index=Busy(16), clock=lambda: NOW_MS)

    assert answer == {"index": "index_busy: OpenSearch answered 429"}


def test_unforeseen_error_of_one_part_does_not_silence_the_other() -> None:
    """R22 R25: each has its own breaker, and its own answer."""
    broken = FakeEmbedder(always=LookupError("no such thing"))

    answer = probe(
        ["provider", "index"], embedder=broken, index=MemoryIndex(16), clock=lambda: NOW_MS
    )

    assert answer == {"provider": "unexpected LookupError: no such thing", "index": None}
