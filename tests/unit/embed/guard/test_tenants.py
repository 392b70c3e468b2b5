"""What each tenant may spend: reserved before its pieces are asked for, settled after."""

import time
from typing import Any

import pytest

from functions.core.budget import Spent
from functions.core.control import Control
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.names import tenant_item
from functions.embed.guard.tenants import Tenants
from functions.embed.packing import Piece
from local.memory.control import MemoryControl
from local.memory.runtime import MemoryTelemetry
from tests.builders import NOW_MS, make_target

ITEM = tenant_item("default", "one")


def tenants(
    control: MemoryControl | None = None, *, now_ms: int = NOW_MS, **budget: Any
) -> Tenants:
    given = {"tenant_tokens_per_day": 10, **budget}
    target = make_target(budget=given, chunk_tokens=16)
    return Tenants(target, control or MemoryControl(), MemoryTelemetry(), lambda: now_ms)


def piece(name: str, tokens: int = 4) -> Piece:
    return Piece(name, name, tokens, 0)


def spent(mine: Tenants) -> int:
    return mine.control.read(ITEM).spent.tokens


def test_as_many_pieces_are_taken_as_the_day_allows() -> None:
    """R19: in their order, the estimate is counted before anything is asked."""
    mine = tenants()

    admitted = mine.admit({"one": [piece("a"), piece("b"), piece("c")]})

    assert [one.hash for one in admitted.pieces] == ["a", "b"]
    assert list(admitted.refused) == ["c"]
    assert spent(mine) == 8


def test_day_may_be_used_up_to_its_last_token() -> None:
    """R19: the limit itself is allowed."""
    assert len(tenants().admit({"one": [piece("a"), piece("b", 6)]}).pieces) == 2


def test_worker_that_was_slower_asks_for_nothing() -> None:
    """R19: what another one has counted meanwhile is not exceeded."""

    class Raced(MemoryControl):
        def read(self, target: str) -> Control:
            before = super().read(target)
            self.items[target] = Control(spent=Spent("2023-11-14", 8, "2023-11"))
            return before

    mine = tenants(Raced())
    admitted = mine.admit({"one": [piece("a")]})

    assert admitted.pieces == []
    assert list(admitted.refused) == ["a"]
    assert spent(mine) == 8


def test_what_was_paid_replaces_the_estimate() -> None:
    """R19: a request that failed costs nothing."""
    mine = tenants()
    admitted = mine.admit({"one": [piece("a"), piece("b")]})

    mine.settle(admitted, {"a": 5})

    assert spent(mine) == 5


def test_estimate_stays_counted_if_it_cannot_be_settled() -> None:
    """R19: the error is on the safe side."""
    control = MemoryControl()
    mine = tenants(control)
    admitted = mine.admit({"one": [piece("a")]})

    control.is_down = True
    mine.settle(admitted, {"a": 1})
    control.is_down = False

    assert spent(mine) == 4


def test_nothing_stays_counted_if_the_load_cannot_be_admitted() -> None:
    """R19: no chunk is asked for then, so that no tenant has spent anything."""

    class HalfDown(MemoryControl):
        def read(self, target: str) -> Control:
            self.is_down = target != ITEM
            try:
                return super().read(target)
            finally:
                self.is_down = False

    mine = tenants(HalfDown())

    with pytest.raises(FailureError):
        mine.admit({"one": [piece("a")], "two": [piece("b")]})

    assert spent(mine) == 0


def test_day_that_is_over_counts_no_more() -> None:
    """R19: tenants begin anew at midnight, UTC."""
    mine = tenants()
    mine.control.items[ITEM] = Control(  # type: ignore[attr-defined]
        spent=Spent("2023-11-13", 10, "2023-11")
    )

    assert len(mine.admit({"one": [piece("a")]}).pieces) == 1


def test_refusal_lasts_until_midnight(monkeypatch: pytest.MonkeyPatch) -> None:
    """R19: it is free, and waits no longer than the day, UTC, wherever the worker is."""
    mine = tenants(now_ms=NOW_MS + 500)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        [failure] = mine.admit({"one": [piece("a", 11)]}).refused.values()
    time.tzset()

    # 22:13:20.5 UTC.
    assert failure == Failure(
        FailureKind.TENANT_BUDGET,
        "the 10 tokens a day of its tenant are used up until 2023-11-15 00:00 UTC",
        6399.5,
        is_asked=False,
    )
    assert not failure.kind.spends_attempt


def test_shared_piece_is_asked_for_once() -> None:
    mine = tenants()

    admitted = mine.admit({"": [piece("a")], "one": [piece("a"), piece("b")]})

    assert [one.hash for one in admitted.pieces] == ["a", "b"]
    assert spent(mine) == 4


def test_piece_that_one_tenant_cannot_pay_is_paid_by_another() -> None:
    """R35: nobody is refused for another one's budget."""
    admitted = tenants().admit({"one": [piece("a", 11)], "two": [piece("a", 4)]})

    assert [one.hash for one in admitted.pieces] == ["a"]
    assert admitted.refused == {}


def test_without_a_limit_for_tenants_nothing_is_written() -> None:
    control = MemoryControl()
    control.is_down = True

    admitted = tenants(control, tenant_tokens_per_day=None).admit({"one": [piece("a")]})

    assert len(admitted.pieces) == 1


def test_what_cannot_be_counted_is_not_asked_for() -> None:
    """R19: spending does not go on without its item."""
    control = MemoryControl()
    control.is_down = True

    with pytest.raises(FailureError):
        tenants(control).admit({"one": [piece("a")]})
