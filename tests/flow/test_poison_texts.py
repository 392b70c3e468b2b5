"""Texts for which the provider fails, among many for which it does not, over a simulated day."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ledger_row import Status
from functions.core.ports import HARMLESS, Embedded
from functions.core.retry_policy import Backoff, Healing, RetryPolicy, RetrySettings
from local.memory.index import HashedEmbedder
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline
from tests.flow.stories import row, write

KINDS = ["nan", "size", "error", "drop", "hang"]
DOCUMENTS = 200
POISONS = 4
BULK = "default/bulk"
REQUEST_SECONDS = 0.3
WRONG = Failure(FailureKind.PROVIDER_ERROR, "the provider is wrong: a vector holds NaN or infinity")
DOWN = Failure(FailureKind.PROVIDER_ERROR, "the provider answered 500")
DROPPED = Failure(FailureKind.PROVIDER_ERROR, "the provider was not reached: APIConnectionError")
SIZE = Failure(FailureKind.PROVIDER_ERROR, "the provider is wrong: a vector has 17 dimensions")
SLOW = Failure(FailureKind.TIMEOUT, "the provider did not answer in time")


class PoisonedEmbedder(HashedEmbedder):
    """Fails for texts that name a failure; `paid` holds the texts that it gave vectors for."""

    def __init__(self) -> None:
        super().__init__(16)
        self.paid: list[str] = []
        self.wait: Callable[[float], None] = lambda _: None

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        if any("hang" in text for text in texts):
            self.wait(timeout_seconds)
            raise FailureError(SLOW)
        self.wait(REQUEST_SECONDS)
        for word, failure in (("error", DOWN), ("drop", DROPPED)):
            if any(word in text for text in texts):
                raise FailureError(failure)
        answer = super().embed(texts, timeout_seconds=timeout_seconds)
        self.paid += [text for text in texts if text != HARMLESS]
        results = [
            WRONG if "nan" in text else SIZE if "size" in text else vector
            for text, vector in zip(texts, answer.vectors, strict=True)
        ]
        return Embedded(results, answer.tokens)


def run_a_day(pipeline: MemoryPipeline) -> None:
    """Let the functions run as their schedules do, for longer than a document heals."""
    pipeline.deliver_new()
    for minute in range(27 * 60):
        end_ms = pipeline.clock() + 60_000
        while pipeline.run(BULK, most=DOCUMENTS) and pipeline.clock() < end_ms:
            continue
        pipeline.reconcile()
        pipeline.sweep("due")
        if minute % 15 == 0:
            pipeline.sweep("maintenance")
        pipeline.clock.advance(max((end_ms - pipeline.clock()) / 1000, 0.0))


@pytest.mark.parametrize("kinds", [[kind] for kind in KINDS] + [KINDS], ids="-".join)
def test_poison_texts_fail_alone(kinds: list[str]) -> None:
    """R10 R13 R35: no other document fails for good, and at most two texts are paid for one."""
    embedder = PoisonedEmbedder()
    pipeline = make_pipeline(source={"priority_attribute": "lane"}, embedders={"default": embedder})
    embedder.wait = pipeline.clock.advance
    poisons = {f"{kind} {n}" for kind in kinds for n in range(POISONS)}
    names = [*poisons, *(f"good {n}" for n in range(DOCUMENTS - len(poisons)))]
    # By their last characters, so that poisons lie between others.
    for name in sorted(names, key=lambda name: name[::-1]):
        write(pipeline, name, f"{name} is a text", lane="bulk")

    run_a_day(pipeline)

    statuses = {name: row(pipeline, name).status for name in names}
    assert {name for name, status in statuses.items() if status is not Status.COMPLETED} == poisons
    assert {statuses[name] for name in poisons} == {Status.FAILED_MAX_RETRIES}
    paid = Counter(embedder.paid)
    assert max(count for text, count in paid.items() if "good" in text) <= 2
    assert paid.total() <= 2 * DOCUMENTS or len(poisons) > POISONS
    assert pipeline.telemetry.metrics["BreakerOpened"] == 0


NO_HEALING = Healing(hours=0)
CHUNKS = 40


def long_document(embedder: PoisonedEmbedder, words: Sequence[str]) -> MemoryPipeline:
    """Work a document of so many chunks, each with its word, as often as the standard policy."""
    pipeline = make_pipeline(
        source={"priority_attribute": "lane"},
        target={"chunk_tokens": 16, "retry": RetrySettings(healing=NO_HEALING)},
        embedders={"default": embedder},
    )
    embedder.wait = pipeline.clock.advance
    chunks = [f"{word} paragraph number {n} of a long text" for n, word in enumerate(words)]
    write(pipeline, "long", "\n\n".join(chunks), lane="bulk")
    run_a_day(pipeline)
    return pipeline


@pytest.mark.parametrize("place", [0, 1, 19, 20, 38, 39])
@pytest.mark.parametrize("word", ["hang", "error", "nan"])
def test_chunk_that_always_fails_takes_no_other_one_with_it(word: str, place: int) -> None:
    """R10 R27 R35: wherever it stands, and though a request with it may take a whole run."""
    embedder = PoisonedEmbedder()
    words = ["good"] * CHUNKS
    words[place] = word

    pipeline = long_document(embedder, words)

    indexed = row(pipeline, "long").indexed
    assert (indexed.chunks_done, indexed.chunks_failed) == (CHUNKS - 1, 1)
    paid = Counter(text for text in embedder.paid if "good" in text)
    assert max(paid.values()) <= 2


class SlowEmbedder(PoisonedEmbedder):
    """Needs so long for each text, whatever it is."""

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        seconds = 2.0 * len(texts)
        if seconds > timeout_seconds:
            return super().embed(["hang"], timeout_seconds=timeout_seconds)
        self.wait(seconds)
        return super().embed(texts, timeout_seconds=timeout_seconds)


def test_provider_that_is_slow_for_all_chunks_embeds_them() -> None:
    """R10 R22: a document needs most of a run, and a chunk little of it."""
    pipeline = long_document(SlowEmbedder(), ["good"] * CHUNKS)

    assert row(pipeline, "long").status is Status.COMPLETED


TWICE = Backoff(max_attempts=2)
TWICE_OF_FIVE = dict.fromkeys((FailureKind.PROVIDER_ERROR, FailureKind.TIMEOUT), TWICE)


@pytest.mark.parametrize(
    "retry",
    [
        RetrySettings(default=RetryPolicy(max_attempts=1), healing=NO_HEALING),
        RetrySettings(default=RetryPolicy(kinds=TWICE_OF_FIVE), healing=NO_HEALING),
        RetrySettings(default=RetryPolicy(retryable=(FailureKind.INDEX_UNAVAILABLE,))),
    ],
    ids=["one attempt", "fewer attempts for a kind", "kind that is not retryable"],
)
def test_failure_that_would_be_the_last_is_not_that_of_others(retry: RetrySettings) -> None:
    """R10 R21 R35: a policy without a second chance gives up nothing but the poison."""
    embedder = PoisonedEmbedder()
    pipeline = make_pipeline(
        source={"priority_attribute": "lane"},
        target={"retry": retry},
        embedders={"default": embedder},
    )
    embedder.wait = pipeline.clock.advance
    poisons = {"error", "drop", "hang"}
    for name in ["good 1", *poisons, "good 2"]:
        write(pipeline, name, f"{name} is a text", lane="bulk")

    pipeline.drain()

    assert {row(pipeline, name).status for name in poisons} == {Status.FAILED_MAX_RETRIES}
    assert {row(pipeline, f"good {n}").status for n in (1, 2)} == {Status.COMPLETED}
    assert max(Counter(embedder.paid).values()) == 1


class Bucket(HashedEmbedder):
    """Throttles each request above a size, plainly; `is_empty`: every one."""

    def __init__(self) -> None:
        super().__init__(16)
        self.is_empty = False

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        if self.is_empty or sum(map(len, texts)) > 1000:
            raise FailureError(Failure(FailureKind.THROTTLED, "429", 60.0))
        return super().embed(texts, timeout_seconds=timeout_seconds)


def test_request_above_what_the_provider_takes_at_once_is_made_smaller() -> None:
    """R23 R35: a plain 429 says nothing about size; waiting would never help."""
    embedder = Bucket()
    pipeline = make_pipeline(source={"priority_attribute": "lane"}, embedders={"default": embedder})
    names = [f"{n}" for n in range(100)]
    for name in names:
        write(pipeline, name, f"{name} " * 20, lane="bulk")

    run_a_day(pipeline)

    assert {row(pipeline, name).status for name in names} == {Status.COMPLETED}


class Busy(HashedEmbedder):
    """Throttles each request with one word, for longer than a run may wait."""

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        if any("busy" in text for text in texts):
            raise FailureError(Failure(FailureKind.THROTTLED, "429", 900.0))
        return super().embed(texts, timeout_seconds=timeout_seconds)


def test_texts_beside_one_that_is_throttled_for_long_are_indexed() -> None:
    """R10 R23: they wait for its cooldown again and again, and spend no attempt for that."""
    pipeline = make_pipeline(source={"priority_attribute": "lane"}, embedders={"default": Busy(16)})
    poisons = [f"busy {n}" for n in range(3)]
    for name in [*poisons, "good"]:
        write(pipeline, name, f"{name} text" * (9 if name == "good" else 1), lane="bulk")

    run_a_day(pipeline)

    good = row(pipeline, "good")
    assert good.status is Status.COMPLETED
    assert FailureKind.PROVIDER_ERROR not in {error.kind for error in good.errors}


class Fenced(HashedEmbedder):
    """Answers one word with a 503, and then wants to be left alone for longer than a run is."""

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        if any("error" in text for text in texts):
            raise FailureError(replace(DOWN, retry_after_seconds=150.0))
        return super().embed(texts, timeout_seconds=timeout_seconds)


def test_text_after_which_the_provider_wants_to_be_left_alone_ends() -> None:
    """R10 R23: also if it has several chunks, of which one after the other would be asked for."""
    pipeline = make_pipeline(
        source={"priority_attribute": "lane"},
        target={"chunk_tokens": 16},
        embedders={"default": Fenced(16)},
    )
    write(pipeline, "poison", "error " * 60, lane="bulk")

    run_a_day(pipeline)

    assert row(pipeline, "poison").status is Status.FAILED_MAX_RETRIES


def test_text_that_is_throttled_while_others_pass_ends_with_its_reason() -> None:
    """R23 R35: by its policy and the healing time, and not before."""
    embedder = Bucket()
    pipeline = make_pipeline(source={"priority_attribute": "lane"}, embedders={"default": embedder})
    write(pipeline, "large", "x" * 1100, lane="bulk")
    write(pipeline, "small", "small", lane="bulk")

    run_a_day(pipeline)
    run_a_day(pipeline)

    large = row(pipeline, "large")
    assert row(pipeline, "small").status is Status.COMPLETED
    assert large.status is Status.FAILED_MAX_RETRIES
    assert "the provider throttles this text, but takes another one: 429" in (
        large.outcome.reason or ""
    )
    assert large.outcome.failed_ms is not None
    assert large.outcome.failed_ms - large.created_ms >= 24 * 3_600_000


def test_provider_that_throttles_everything_ends_no_document() -> None:
    """R23 R35: however long it lasts."""
    embedder = Bucket()
    embedder.is_empty = True
    pipeline = make_pipeline(source={"priority_attribute": "lane"}, embedders={"default": embedder})
    for name in ("large", "small"):
        write(pipeline, name, name, lane="bulk")

    run_a_day(pipeline)
    run_a_day(pipeline)
    waiting = [row(pipeline, name) for name in ("large", "small")]
    embedder.is_empty = False
    run_a_day(pipeline)

    assert {(one.status, one.progress.attempts) for one in waiting} == {(Status.PENDING, 0)}
    assert {row(pipeline, name).status for name in ("large", "small")} == {Status.COMPLETED}
