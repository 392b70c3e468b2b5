"""Paying for a load: what is known is reused, what was paid is kept, and what is missing ends."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from functions.core.document import Document
from functions.core.entry import Chunk, Entry, StoredEntry, Vector
from functions.core.failure import Failure, FailureError, FailureKind, RefusedRequestError
from functions.core.identity import DocumentId, EntryId, RowKey
from functions.core.ledger_row import ErrorRecord
from functions.embed.ending import Failed, Untouched
from functions.embed.guard.tenants import Tenants
from functions.embed.job import Job, Prepared
from functions.embed.payment import Payment
from functions.embed.run_time import RunTime
from local.memory.control import MemoryControl
from local.memory.index import MemoryIndex
from local.memory.ledger import MemoryStash
from local.memory.runtime import MemoryTelemetry
from tests.builders import NOW_MS, changed, make_message, make_row, make_target, make_task
from tests.fake_embedder import REFUSED, FakeEmbedder

DOWN = Failure(FailureKind.PROVIDER_ERROR, "503")
TIME = RunTime(lambda: 100.0, 120.0)


class Till:
    """A payment with memory around it."""

    def __init__(
        self,
        embedder: FakeEmbedder | None = None,
        stash: MemoryStash | None = None,
        **target: Any,
    ) -> None:
        self.embedder = embedder or FakeEmbedder()
        self.index = MemoryIndex(16)
        self.stash = stash or MemoryStash()
        self.telemetry = MemoryTelemetry()
        self.faults: list[Failure] = []
        self.payment = Payment(
            embedder=self.embedder,
            index=self.index,
            stash=self.stash,
            telemetry=self.telemetry,
            target=make_target(**target),
            tenants=Tenants(make_target(**target), MemoryControl(), self.telemetry, lambda: NOW_MS),
            is_failing=lambda: False,
            misconfigured=self.faults.append,
            excuse=lambda _: None,
        )


def prepared(name: str, *texts: str, **row: Any) -> Prepared:
    """Prepare a document whose chunks have their texts as hashes."""
    task = make_task(document_id=DocumentId(name))
    job = Job(make_message(task), task, changed(make_row(task=task), **row))
    return Prepared(
        job, Document("".join(texts), "article"), f"hash of {name}", texts, texts, texts
    )


def indexed(name: str, *texts: str) -> Entry:
    chunks = tuple(Chunk(text, text, vector(7)) for text in texts)
    return Entry("articles", DocumentId(name), 1, "old", "article", {}, chunks, NOW_MS, "")


def vector(first: float) -> Vector:
    return np.array([first, *[1.0] * 15], dtype=np.float32)


def test_only_what_was_paid_in_this_run_has_a_cost() -> None:
    """R28: a chunk that the index had already costs nothing again."""
    till = Till()
    till.index.write([indexed("a", "known")], searchable_now=True)

    [paid], _ = till.payment.pay([prepared("a", "known", "one two three")], TIME)

    assert (till.embedder.requests, paid.tokens) == ([["one two three"]], 3)


def test_timeout_is_as_long_as_the_most_patient_document_needs() -> None:
    """R22: the one with most timeouts behind it decides for the request."""
    till = Till()
    timeout = ErrorRecord(NOW_MS, FailureKind.TIMEOUT, "no answer")

    till.payment.pay([prepared("a", "x", errors=(timeout,), attempts=1), prepared("b", "y")], TIME)

    assert till.embedder.timeout_seconds == pytest.approx(30.0, rel=0.01)


@pytest.mark.parametrize(
    ("past", "is_isolated"),
    [
        ({"provider_failures": 1, "attempts": 1}, False),
        ({"provider_failures": 2, "attempts": 2}, True),
        ({"provider_failures": 1, "attempts": 3}, False),
        ({"provider_failures": 1, "attempts": 4}, True),
        ({"provider_failures": 0, "attempts": 4}, False),
        ({"throttles": 2}, False),
        ({"throttles": 3}, True),
    ],
)
def test_document_that_may_be_the_cause_has_requests_of_its_own(
    past: dict[str, int], is_isolated: bool
) -> None:
    """R35: after two failures, or after one on the last of five attempts, or three throttles."""
    till = Till()

    till.payment.pay([prepared("a", "x", max_attempts=5, **past), prepared("b", "y")], TIME)

    assert till.embedder.requests == ([["y"], ["x"]] if is_isolated else [["x", "y"]])


def test_requests_are_smaller_while_most_of_them_fail() -> None:
    """R26: less is lost with each."""
    till = Till(tokens_per_request=80)
    texts = [f"{number} " * 10 for number in range(4)]
    failing = replace(till.payment, is_failing=lambda: True)

    failing.pay([prepared("a", *texts)], TIME)
    smaller = len(till.embedder.requests)
    till.payment.pay([prepared("b", *texts)], TIME)

    assert smaller > len(till.embedder.requests) - smaller


def test_chunk_of_several_documents_is_paid_once() -> None:
    """R06: whichever of them asks first."""
    till = Till()

    paid, unpaid = till.payment.pay([prepared("a", "x", "y"), prepared("b", "y")], TIME)

    assert till.embedder.requests == [["x", "y"]]
    assert [sorted(one.vectors) for one in paid] == [["x", "y"], ["y"]]
    assert unpaid == {}
    assert till.telemetry.metrics["ChunksPaid"] == 2
    assert till.telemetry.metrics["ChunksReused"] == 1


def test_chunk_of_several_documents_is_not_rejected_with_one_of_them() -> None:
    """R35: a line that stands on every page, among the poison chunks of one."""
    till = Till()
    poison = [f"poison {number}" for number in range(6)]

    paid, unpaid = till.payment.pay(
        [prepared("a", *poison[:4], "every page", *poison[4:]), prepared("b", "every page")], TIME
    )

    assert [sorted(one.vectors) for one in paid] == [["every page"], ["every page"]]
    assert unpaid == {}


def test_tokens_are_counted_by_lane_and_model() -> None:
    """R60 R61: who asks what a backfill costs sees the bulk lane alone."""
    till = Till(usd_per_million_tokens=1.0)

    till.payment.pay([prepared("a", "two words")], TIME)

    paid = till.telemetry.metrics["TokensPaid"]
    assert paid > 0
    assert till.telemetry.details["TokensPaid", "normal", till.payment.target.model] == paid


def test_vectors_of_the_index_and_the_stash_are_not_paid_again() -> None:
    """R06 R13: only the chunk that neither has is asked for."""
    till = Till()
    till.index.write([indexed("a", "in the index")], searchable_now=True)
    load = prepared("a", "in the index", "in the stash", "new", stashed=True)
    till.stash.write(load.job.key, {"in the stash": vector(9)})

    [paid], _ = till.payment.pay([load], TIME)

    assert till.embedder.requests == [["new"]]
    assert [paid.vectors[name][0] for name in ("in the index", "in the stash")] == [7, 9]


def test_stash_of_a_row_that_has_none_is_not_read() -> None:
    """R13: the happy path costs no call to S3."""
    till = Till()
    load = prepared("a", "x")
    till.stash.write(load.job.key, {"x": vector(9)})

    till.payment.pay([load], TIME)

    assert till.embedder.requests == [["x"]]


def test_document_that_fails_keeps_what_was_paid_for_it() -> None:
    """R13 R27: stashed for the next attempt, and indexable if there is none."""
    till = Till(FakeEmbedder(failures=[None, DOWN]), tokens_per_request=16)
    load = prepared("a", "first chunk", "second chunk")

    paid, unpaid = till.payment.pay([load], TIME)

    one = unpaid[load.job.key]
    assert paid == []
    assert one.ending == Failed(DOWN, "hash of a", stashed=True)
    assert one.indexable_part is not None
    assert list(one.indexable_part.vectors) == ["first chunk"]
    assert list(till.stash.read(load.job.key)) == ["first chunk"]


def test_rejected_chunk_leaves_the_others_searchable() -> None:
    """R27: a document with one bad chunk is paid, without it."""
    till = Till()

    [paid], unpaid = till.payment.pay([prepared("a", "good", "poison")], TIME)

    entry = paid.entry(now_ms=NOW_MS)
    assert ([chunk.text for chunk in entry.chunks], entry.chunks_failed) == (["good"], 1)
    assert [chunk.start for chunk in entry.chunks] == [0]
    assert unpaid == {}


def test_document_whose_chunks_are_all_rejected_fails() -> None:
    """R24: there is nothing to index."""
    till = Till()
    load = prepared("a", "poison")

    paid, unpaid = till.payment.pay([load, prepared("b", "good")], TIME)

    assert [one.prepared.job.task.document_id for one in paid] == ["b"]
    assert unpaid[load.job.key].ending == Failed(REFUSED, "hash of a")
    assert unpaid[load.job.key].indexable_part is None


def test_run_without_time_leaves_the_document_untouched() -> None:
    """R09 R13: nothing was asked, so nothing has failed."""
    till = Till()
    load = prepared("a", "x")

    _, unpaid = till.payment.pay([load], RunTime(lambda: 10.0, 120.0))

    assert unpaid[load.job.key].ending == Untouched()


def test_setting_that_the_provider_refuses_is_reported_once() -> None:
    """R24: the breaker opens, and no document fails for it."""
    till = Till(FakeEmbedder(always=RefusedRequestError(REFUSED)))
    load = [prepared("a", "x"), prepared("b", "y")]

    _, unpaid = till.payment.pay(load, TIME)

    [fault] = till.faults
    assert fault.kind is FailureKind.CONFIGURATION
    assert {one.ending for one in unpaid.values()} == {
        Failed(fault, "hash of a"),
        Failed(fault, "hash of b"),
    }


@pytest.mark.parametrize("stashed", [True, False])
def test_second_run_stashes_before_it_writes(stashed: bool) -> None:
    """R13: a run that had it before has crashed, and this one may, too."""
    till = Till()
    load = prepared("a", "x", stashed=stashed)

    till.payment.pay([load], TIME)

    assert list(till.stash.read(load.job.key)) == (["x"] if stashed else [])


def test_stash_that_is_down_only_costs_money() -> None:
    """R13: reading and writing are logged, and the document goes on."""

    class Broken(MemoryStash):
        def read(self, key: RowKey) -> Mapping[str, Vector]:
            raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, f"reading {key}"))

        def write(self, key: RowKey, vectors: Mapping[str, Vector]) -> None:
            raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, f"{key} {len(vectors)}"))

    till = Till(stash=Broken())
    load = prepared("a", "x", stashed=True)

    [paid], _ = till.payment.pay([load], TIME)

    assert list(paid.vectors) == ["x"]
    assert not till.payment.keep(load, paid.vectors)
    assert [name for name, _ in till.telemetry.events] == ["stash_failed"] * 3


def test_vectors_of_the_replaced_index_are_taken_and_not_paid() -> None:
    """R44 R28: by the hash of the chunk, from whatever version is there; a new chunk is paid."""
    till = Till()
    earlier = MemoryIndex(16)
    earlier.write([indexed("a", "known", "gone"), indexed("b", "other")], searchable_now=True)
    payment = replace(till.payment, reused=(earlier,))

    paid, _ = payment.pay([prepared("a", "known"), prepared("b", "other", "new")], TIME)

    assert till.embedder.requests == [["new"]]
    assert [one.tokens for one in paid] == [0, 1]
    assert paid[0].vectors["known"][0] == 7


def test_replaced_index_is_read_only_for_what_is_missing() -> None:
    """R44 R28: the own index comes first; while it has all vectors, the other may be gone."""
    till = Till()
    till.index.write([indexed("a", "known")], searchable_now=True)
    broken = MemoryIndex(16)
    broken.lose()
    payment = replace(till.payment, reused=(broken,))

    [paid], _ = payment.pay([prepared("a", "known")], TIME)

    assert paid.tokens == 0


@pytest.mark.parametrize(
    "kind", [FailureKind.INDEX_UNAVAILABLE, FailureKind.INDEX_BUSY, FailureKind.CONFIGURATION]
)
def test_replaced_index_that_does_not_answer_is_waited_for(kind: FailureKind) -> None:
    """R44 R13: rather than paying for what is there; a missing right takes nothing away either."""

    class Away(MemoryIndex):
        def read(self, *_: object, **__: object) -> dict[EntryId, StoredEntry]:
            raise FailureError(Failure(kind, "no answer"))

    till = Till()
    payment = replace(till.payment, reused=(Away(16),))

    with pytest.raises(FailureError):
        payment.pay([prepared("a", "known")], TIME)

    assert till.embedder.requests == []


def test_replaced_index_that_is_gone_counts_as_empty() -> None:
    """R44 R14: what it had is lost, and no waiting brings it back; the own index is read."""
    till = Till()
    till.index.write([indexed("a", "known")], searchable_now=True)
    gone = MemoryIndex(16)
    gone.write([indexed("b", "other")], searchable_now=True)
    gone.lose()
    payment = replace(till.payment, reused=(gone,))

    paid, unpaid = payment.pay([prepared("a", "known", "new"), prepared("b", "other")], TIME)

    assert till.embedder.requests == [["new", "other"]]
    assert [one.tokens for one in paid] == [1, 1]
    assert unpaid == {}


def test_replaced_index_that_is_gone_is_said_once_a_run() -> None:
    """R44 R63: it costs money; a run without such a document says nothing."""
    till = Till()
    gone = MemoryIndex(16)
    gone.lose()
    payment = replace(till.payment, reused=(gone,))
    for name in "ab":
        payment.pay([prepared(name, f"new {name}")], TIME)

    for _ in range(2):
        payment.report()

    assert till.telemetry.events == [("replaced_index_missing", {"documents": 2})]
