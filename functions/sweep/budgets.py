"""The budgets: how far each one is used, and what waits for one that has room again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from functions.core.budget import NANO, Budget, budget_of
from functions.core.control import Control, log_unreadable
from functions.core.failure import FailureError
from functions.core.ports import Clock, ControlStore, Telemetry
from functions.core.settings import TargetSettings
from functions.sweep.jobs import SendDue
from functions.sweep.ports import SecondsLeft

# The alarm in infrastructure/monitoring/health.py begins here, too.
WARNING_PERCENT = 80


@dataclass(frozen=True)
class Budgets:
    """The job that publishes them; while all are used up, nothing of what waits is even listed."""

    control: ControlStore
    telemetry: Telemetry
    clock: Clock
    targets: Sequence[TargetSettings]  # that have one
    send: SendDue
    name: str = "budgets"

    def run(self, seconds_left: SecondsLeft) -> None:
        """Look at each budget; send what waits if one has room."""
        budgets = [self._look(target) for target in self.targets]
        if any(budget is not None and not budget.is_used_up for budget in budgets):
            self.send.run(seconds_left)

    def _look(self, target: TargetSettings) -> Budget | None:
        try:
            control = self.control.read(target.name)
            self._log_raise(target.name, control)
        except FailureError as error:
            log_unreadable(self.telemetry, target.name, error)
            return None
        budget = budget_of(target, control, now_ms=self.clock())
        if budget is not None:
            self.telemetry.count("BudgetUsedPercent", budget.used_percent, target=target.name)
            if budget.used_percent >= WARNING_PERCENT:
                self.telemetry.event(
                    "budget_nearly_used",
                    target=target.name,
                    percent=budget.used_percent,
                    budget=str(budget.tightest),
                    until=budget.tightest.until.isoformat(),
                )
        return budget

    def _log_raise(self, target: str, control: Control) -> None:
        """Log what a person has raised: a command has no log of its own."""
        raised = control.raised
        if raised.is_logged:
            return
        if self.control.raise_budget(target, raised, replace(raised, is_logged=True)):
            self.telemetry.event(
                "budget_raised",
                target=target,
                tokens_per_day=raised.tokens,
                usd_per_month=raised.nanousd / NANO,
                until_ms=raised.until_ms,
                reason=raised.reason,
            )
