"""What each tenant may spend in a day: counted before its chunks are asked for, settled after."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from functions.core.budget import Caps, Cost, Spent
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.names import tenant_item
from functions.core.ports import Clock, ControlStore, Telemetry
from functions.core.settings import TargetSettings
from functions.embed.packing import Piece


@dataclass(frozen=True)
class Reserved:
    """What was counted for a tenant's pieces, and on which day."""

    item: str
    pieces: Sequence[Piece]
    spent: Spent


@dataclass(frozen=True)
class Affordable:
    """Pieces to ask for, each once, and those that a tenant's budget refuses, by hash."""

    pieces: Sequence[Piece]
    refused: Mapping[str, Failure]
    reserved: Sequence[Reserved] = ()


@dataclass(frozen=True)
class Tenants:
    """Writes nothing for a target whose budget has no limit for tenants."""

    target: TargetSettings
    control: ControlStore
    telemetry: Telemetry
    clock: Clock

    def admit(self, wanted: Mapping[str, Sequence[Piece]]) -> Affordable:
        """Take the pieces that their tenants can pay; a shared one is paid by the first that can.

        Raise if what is spent can be neither read nor written: then nothing is asked.
        """
        pieces: dict[str, Piece] = {}
        refused: dict[str, Failure] = {}
        reserved: list[Reserved] = []
        for tenant, its_pieces in wanted.items():
            unpaid = [piece for piece in its_pieces if piece.hash not in pieces]
            taken: Sequence[Piece] = unpaid
            if tenant and self._cap is not None:
                try:
                    reservation = self._reserve(tenant, unpaid, self._cap)
                except FailureError:
                    # Nothing is paid then: what the tenants before were counted is given back.
                    self.settle(Affordable([], {}, reserved), {})
                    raise
                reserved.append(reservation)
                taken = reservation.pieces
            pieces |= {piece.hash: piece for piece in taken}
            if left := unpaid[len(taken) :]:
                refused |= dict.fromkeys((piece.hash for piece in left), self._refuse(tenant))
        refused = {name: failure for name, failure in refused.items() if name not in pieces}
        return Affordable(list(pieces.values()), refused, reserved)

    def settle(self, affordable: Affordable, tokens: Mapping[str, int]) -> None:
        """Count what was paid instead of the estimates; what a crash leaves stays counted."""
        for reserved in affordable.reserved:
            paid = sum(tokens.get(piece.hash, 0) for piece in reserved.pieces)
            change = Cost(paid - _tokens(reserved.pieces))
            if change != Cost():
                try:
                    self.control.settle(reserved.item, reserved.spent, change)
                except FailureError as error:
                    self.telemetry.event(
                        "budget_not_settled", target=self.target.name, failure=str(error)
                    )

    @property
    def _cap(self) -> int | None:
        return self.target.budget.tenant_tokens_per_day if self.target.budget else None

    def _reserve(self, tenant: str, pieces: Sequence[Piece], cap: int) -> Reserved:
        item, now_ms = tenant_item(self.target.name, tenant), self.clock()
        before = self.control.read(item).spent
        taken = list(_fitting(pieces, cap - before.at(now_ms).tokens))
        if not taken:
            return Reserved(item, [], before)
        cost = Cost(_tokens(taken))
        spent = self.control.reserve(item, before, cost, Caps(tokens=cap), now_ms=now_ms)
        # Another worker was faster: what is left now is for the next run.
        return Reserved(item, taken, spent) if spent else Reserved(item, [], before)

    def _refuse(self, tenant: str) -> Failure:
        now = datetime.fromtimestamp(self.clock() / 1000, UTC)
        until = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        message = (
            f"the {self._cap:,} tokens a day of its tenant are used up until"
            f" {until:%Y-%m-%d %H:%M} UTC"
        )
        self.telemetry.count("BudgetRefusals")
        self.telemetry.event(
            "tenant_budget_refused", target=self.target.name, tenant=tenant, reason=message
        )
        return Failure(
            FailureKind.TENANT_BUDGET, message, (until - now).total_seconds(), is_asked=False
        )


def _fitting(pieces: Sequence[Piece], room: int) -> Iterator[Piece]:
    totals = accumulate(piece.tokens for piece in pieces)
    return (piece for piece, total in zip(pieces, totals, strict=True) if total <= room)


def _tokens(pieces: Sequence[Piece]) -> int:
    return sum(piece.tokens for piece in pieces)
