"""Logs and metrics: one JSON line per step of a document's life; ids and numbers only."""

from typing import Any

from aws_lambda_powertools import Logger

from functions.adapters.emf import FunctionMetrics

WARNINGS = frozenset(
    {
        "announcement_failed",
        "batch_failed",
        "breaker_paused",
        "budget_nearly_used",
        "budget_not_settled",
        "budget_refused",
        "census_cut_off",
        "change_rejected",
        "changes_not_replayed",
        "control_unreadable",
        "cooldown_started",
        "document_drifted",
        "failure_bulk",
        "failure_isolated",
        "index_not_seen",
        "ledger_failed",
        "message_malformed",
        "message_not_hidden",
        "probe_failed",
        "probe_not_sent",
        "reconcile_failed",
        "replaced_index_missing",
        "requeue_held_back",
        "round_failed",
        "segment_failed",
        "segment_silent",
        "stash_failed",
        "task_not_sent",
        "tenant_budget_refused",
    }
)
ERRORS = frozenset(
    {
        "breaker_opened",
        "index_lost",
        "job_failed",
        "sweep_job_failed",
        "task_exhausted",
        "task_given_up",
    }
)


def make_logger(service: str) -> Logger:
    """Make the logger of a function."""
    # Every line comes from this module: where it stands says nothing.
    return Logger(service=service, location=None)


class PowertoolsTelemetry:
    """Writes to standard output, where CloudWatch picks both up."""

    def __init__(self, logger: Logger, metrics: FunctionMetrics) -> None:
        self._logger = logger
        self._metrics = metrics

    def event(self, name: str, **fields: Any) -> None:
        log = self._logger.info
        if name in WARNINGS:
            log = self._logger.warning
        if name in ERRORS:
            log = self._logger.error
        log(name, extra=fields)

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        self._metrics.add(metric, value, tuple(dimensions.items()))

    def unexpected(self, error: Exception) -> None:
        self._logger.error("unexpected_error", exc_info=error)
