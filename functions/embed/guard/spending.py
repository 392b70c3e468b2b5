"""The budget as one worker keeps to it: reserved before a request, settled after its answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from functions.core.budget import Budget, Cost, Spent, budget_of
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ports import Clock, Telemetry
from functions.core.settings import TargetSettings
from functions.embed.guard.shared_control import SharedControl

COMMAND = "raise it with `embedq budget raise`, or wait"


@dataclass(frozen=True)
class Reservation:
    """The cost that was counted for a request, and in which day and month."""

    budget: Budget
    cost: Cost
    spent: Spent


class Spending:
    """Writes nothing for a target without a budget."""

    def __init__(
        self,
        target: TargetSettings,
        shared: SharedControl,
        telemetry: Telemetry,
        clock: Clock,
        count_tokens: Callable[[str], int],
    ) -> None:
        self._target = target
        self._shared = shared
        self._telemetry = telemetry
        self._clock = clock
        self._count_tokens = count_tokens
        self.begin_run(is_live=True)

    def begin_run(self, *, is_live: bool) -> None:
        """Ask again: what was refused in the run before may fit now."""
        self._is_live = is_live
        self._refused: Failure | None = None

    def at_most(self, tokens: int) -> int:
        """Return the size of a request that still fits, if so many are allowed otherwise."""
        budget = self._budget()
        if budget is None:
            return tokens
        return min(tokens, max(budget.left_tokens, budget.least_tokens))

    def reserve(self, texts: Sequence[str]) -> Reservation | None:
        """Count a request that is about to be sent; raise where the budget does not allow it.

        Once refused, nothing more is asked in this run: the next request would not fit either.
        """
        if self._refused is not None:
            raise FailureError(self._refused)
        budget = self._budget()
        if budget is None:
            return None
        cost = budget.cost(sum(map(self._count_tokens, texts)))
        spent = self._shared.reserve(cost, budget.caps)
        if spent is None:
            raise FailureError(self._refuse(budget))
        return Reservation(budget, cost, spent)

    def answered(self, reservation: Reservation | None, tokens: int) -> None:
        """Count what a request has cost instead of its estimate."""
        if reservation is not None:
            self._settle(reservation, reservation.budget.cost(tokens))

    def failed(self, reservation: Reservation | None, failure: Failure) -> None:
        """Count nothing for a request that cost nothing; else its estimate stays."""
        if reservation is not None and not failure.may_be_billed:
            self._settle(reservation, Cost())

    def _settle(self, reservation: Reservation, cost: Cost) -> None:
        change = cost - reservation.cost
        if change != Cost():
            self._shared.settle(reservation.spent, change)

    def _budget(self) -> Budget | None:
        if self._target.budget is None:
            return None
        control = self._shared.now()
        return budget_of(self._target, control, now_ms=self._clock(), is_live=self._is_live)

    def _refuse(self, budget: Budget) -> Failure:
        limit = budget.tightest
        whose = "the budget" if self._is_live else "what bulk may take of the budget"
        until = limit.until.strftime("%Y-%m-%d %H:%M UTC")
        message = f"{whose}, {limit}, is used up until {until}: {COMMAND}"
        self._telemetry.count("BudgetRefusals")
        self._telemetry.event("budget_refused", target=self._target.name, reason=message)
        self._refused = Failure(FailureKind.BUDGET, message, is_asked=False)
        # What it was refused by may be old: the next run looks again.
        self._shared.forget()
        return self._refused
