"""Logs and metrics: one JSON line per step of a document's life; ids and numbers only."""

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import (
    AmazonCloudWatchEMFProvider,
)

from functions.core.names import METRICS_NAMESPACE

WARNINGS = frozenset(
    {
        "announcement_failed",
        "batch_failed",
        "breaker_paused",
        "budget_nearly_used",
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
        "requeue_held_back",
        "round_failed",
        "segment_failed",
        "segment_silent",
        "stash_failed",
        "task_not_sent",
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
# These are worth knowing when they are zero.
GAUGES = frozenset(
    {
        "BreakerOpen",
        "BudgetUsedPercent",
        "Drifted",
        "FailedDocuments",
        "HealingDocuments",
        "LostIndexes",
        "OverBudgetDocuments",
        "ParkedDocuments",
        "StuckDocuments",
    }
)
UNITS = {"Milliseconds": MetricUnit.Milliseconds, "Percent": MetricUnit.Percent}


def make_logger(service: str) -> Logger:
    """Make the logger of a function."""
    # Every line comes from this module: where it stands says nothing.
    return Logger(service=service, location=None)


class FunctionMetrics(AmazonCloudWatchEMFProvider):
    """The metrics of one function: `Metrics` of Powertools keeps one set for a whole process."""

    def flush_metrics(self, raise_on_empty_metrics: bool = False) -> None:
        """Publish what was counted; a run that had nothing to count is no reason to warn."""
        if self.metric_set:
            super().flush_metrics(raise_on_empty_metrics)


def make_metrics(service: str) -> FunctionMetrics:
    """Make the metrics of a function."""
    return FunctionMetrics(namespace=METRICS_NAMESPACE, service=service)


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

    def count(self, metric: str, value: float = 1) -> None:
        """Add to a metric; the name's last word is its unit, if it is one."""
        if value or metric in GAUGES or metric.endswith("Milliseconds"):
            unit = next((u for word, u in UNITS.items() if metric.endswith(word)), None)
            self._metrics.add_metric(name=metric, unit=unit or MetricUnit.Count, value=value)

    def unexpected(self, error: Exception) -> None:
        self._logger.error("unexpected_error", exc_info=error)
