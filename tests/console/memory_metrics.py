"""A client of CloudWatch for the console without engines: values of one machine's store."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from functions.core.names import METRICS_NAMESPACE
from local.watch.alarms import metric_of
from local.watch.store import MetricId, MetricStore, Window


class MemoryMetrics:
    """Answers one page of values."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._store = MetricStore()

    def put(self, name: str, *values: float) -> None:
        """Write a metric of embed as of now."""
        metric = MetricId.of(METRICS_NAMESPACE, name, service="embed", stage=self._stage)
        self._store.put(metric, values, at_ms=time.time_ns() // 1_000_000)

    def get_paginator(self, call: str) -> "MemoryMetrics":
        assert call == "get_metric_data"
        return self

    def paginate(
        self, StartTime: datetime, EndTime: datetime, MetricDataQueries: list[dict[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        results = []
        for query in MetricDataQueries:
            stat = query["MetricStat"]
            count = round((EndTime - StartTime).total_seconds() / stat["Period"])
            window = Window(round(EndTime.timestamp() * 1000), stat["Period"], count)
            values = self._store.statistics(metric_of(stat["Metric"]), stat["Stat"], window)
            starts = [datetime.fromtimestamp(ms / 1000, UTC) for ms in window.starts_ms()]
            known = [pair for pair in zip(starts, values, strict=True) if pair[1] is not None]
            results.append(
                {
                    "Id": query["Id"],
                    "Timestamps": [at for at, _ in known],
                    "Values": [value for _, value in known],
                }
            )
        yield {"MetricDataResults": results}
