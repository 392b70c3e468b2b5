"""Vectors of questions: paid once, bounded, and not asked for while the breaker is open."""

from dataclasses import replace

import pytest

from functions.core.breaker import Breaker, Circuit
from functions.core.control import Control
from functions.core.failure import Failure, FailureError, FailureKind
from functions.search.vectors import KEPT_VECTORS, STATE_MS, ProviderState, QueryVectors
from local.memory.index import HashedEmbedder
from local.memory.runtime import MemoryTelemetry
from tests.builders import make_target

TARGET = make_target(dimensions=16, query_prefix="query: ")


def test_question_is_embedded_in_its_role_and_once() -> None:
    """R17 R51: with the prefix of queries."""
    embedder = HashedEmbedder(16)
    vectors = QueryVectors(lambda _: embedder)

    first, second = vectors(TARGET, "a bird"), vectors(TARGET, "a bird")

    assert (first == second).all()
    assert embedder.requests == [["query: a bird"]]


def test_another_model_has_vectors_of_its_own() -> None:
    """R44: the same words, another target or model."""
    embedder = HashedEmbedder(16)
    vectors = QueryVectors(lambda _: embedder)

    for target in (TARGET, make_target(name="b", dimensions=16), make_target(model="m")):
        vectors(target.model_copy(update={"dimensions": 16}), "a bird")

    assert len(embedder.requests) == 3


def test_kept_vectors_are_bounded_and_the_latest_stay() -> None:
    """R51: a function that lives for hours does not grow."""
    embedder = HashedEmbedder(16)
    vectors = QueryVectors(lambda _: embedder)
    vectors(TARGET, "first")
    for number in range(KEPT_VECTORS - 1):
        vectors(TARGET, str(number))
    vectors(TARGET, "first")
    vectors(TARGET, "one more")

    assert len(vectors.kept) == KEPT_VECTORS
    asked = len(embedder.requests)
    vectors(TARGET, "first")
    assert len(embedder.requests) == asked
    vectors(TARGET, "0")
    assert len(embedder.requests) == asked + 1


class Controls:
    """A control item that may be unreadable."""

    def __init__(self) -> None:
        self.control = Control()
        self.reads = 0
        self.failure: Failure | None = None

    def read(self, target: str) -> Control:
        del target
        self.reads += 1
        if self.failure is not None:
            raise FailureError(self.failure)
        return self.control


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (Circuit.CLOSED, None),
        (Circuit.REOPENING, None),
        (Circuit.OPEN, "the provider's breaker is open"),
        (Circuit.PAUSED, "the provider's breaker is paused"),
    ],
)
def test_open_or_paused_breaker_stops_questions_too(state: Circuit, reason: str | None) -> None:
    """R25: what embed does not ask, a search does not ask either."""
    controls = Controls()
    controls.control = replace(Control(), provider=Breaker(state=state))
    stopped = ProviderState(controls.read, MemoryTelemetry(), lambda: 0)

    assert stopped(TARGET) == reason


def test_state_is_read_now_and_then() -> None:
    """R51: not for every question, and soon enough."""
    controls = Controls()
    now = [1000]
    stopped = ProviderState(controls.read, MemoryTelemetry(), lambda: now[0])

    for now[0] in (1000, 1000 + STATE_MS - 1, 1000 + STATE_MS):
        stopped(TARGET)

    assert controls.reads == 2


def test_unreadable_state_lets_the_provider_be_asked() -> None:
    """R25: a search does not depend on the ledger's table."""
    controls = Controls()
    controls.failure = Failure(FailureKind.STORE_UNAVAILABLE, "no")
    telemetry = MemoryTelemetry()

    assert ProviderState(controls.read, telemetry, lambda: 0)(TARGET) is None
