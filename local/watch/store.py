"""Metrics of the last day, by the minute: from EMF lines, from the runner and from the engines.

Whoever wants numbers asks `statistics`, as CloudWatch's GetMetricData is asked.
"""

import json
import math
import re
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MINUTE_MS = 60_000
KEPT_MINUTES = 26 * 60
_PERCENTILE = re.compile(r"^p(\d{1,2}(?:\.\d+)?|100)$")
_RANK = re.compile(r"^PR\((\d*\.?\d*):(\d*\.?\d*)\)$")
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Statistics-definitions.html
_PLAIN: dict[str, Callable[[Sequence[float]], float]] = {
    "Sum": sum,
    "Average": lambda values: sum(values) / len(values),
    "Minimum": min,
    "Maximum": max,
    "SampleCount": len,
}


@dataclass(frozen=True)
class MetricId:
    """What CloudWatch takes for one metric: other dimensions make another metric."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, namespace: str, name: str, **dimensions: str) -> "MetricId":
        """Name a metric by its dimensions as keywords."""
        return cls(namespace, name, frozenset(dimensions.items()))


@dataclass(frozen=True)
class Window:
    """A period, as often as it is asked for, that ends at a full minute."""

    end_ms: int
    period_seconds: int
    count: int

    def starts_ms(self) -> list[int]:
        """Return where each period begins, the oldest first."""
        period_ms = self.period_seconds * 1000
        return [self.end_ms - n * period_ms for n in range(self.count, 0, -1)]


class UnknownStatisticError(ValueError):
    """CloudWatch has no such statistic, or it is not needed here."""


class MetricStore:
    """What was measured, each value in its minute; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minutes: dict[MetricId, dict[int, list[float]]] = {}
        self._units: dict[MetricId, str] = {}

    def put(
        self, metric: MetricId, values: Iterable[float], *, at_ms: int, unit: str = "None"
    ) -> None:
        """Keep values of one minute; what is older than a day is forgotten."""
        minute = at_ms // MINUTE_MS
        with self._lock:
            minutes = self._minutes.setdefault(metric, {})
            minutes.setdefault(minute, []).extend(values)
            self._units[metric] = unit
            if len(minutes) > KEPT_MINUTES:
                for old in [one for one in minutes if one <= minute - KEPT_MINUTES]:
                    del minutes[old]

    def read_line(self, line: str) -> bool:
        """Keep the metrics of a log line, if it is one of the embedded metric format."""
        if '"CloudWatchMetrics"' not in line:
            return False
        try:
            written = json.loads(line)
            directives = written["_aws"]["CloudWatchMetrics"]
        except (ValueError, KeyError, TypeError):
            return False
        for directive in directives:
            self._read_directive(directive, written)
        return True

    def _read_directive(self, directive: Mapping[str, Any], written: Mapping[str, Any]) -> None:
        for names in directive["Dimensions"]:
            dimensions = frozenset((name, str(written[name])) for name in names)
            for metric in directive["Metrics"]:
                value = written[metric["Name"]]
                self.put(
                    MetricId(directive["Namespace"], metric["Name"], dimensions),
                    value if isinstance(value, list) else [value],
                    at_ms=int(written["_aws"]["Timestamp"]),
                    unit=metric.get("Unit", "None"),
                )

    def metrics(self) -> dict[MetricId, str]:
        """Return every metric that was written, with its unit."""
        with self._lock:
            return dict(self._units)

    def statistics(self, metric: MetricId, statistic: str, window: Window) -> list[float | None]:
        """Return the statistic of each period, the oldest first; None where nothing was written."""
        period_ms = window.period_seconds * 1000
        with self._lock:
            minutes = self._minutes.get(metric, {})
            known = sorted(minutes)
            found = []
            for start_ms in window.starts_ms():
                first = bisect_left(known, start_ms / MINUTE_MS)
                last = bisect_left(known, (start_ms + period_ms) / MINUTE_MS)
                found.append([one for minute in known[first:last] for one in minutes[minute]])
        return [reduced(values, statistic) if values else None for values in found]


def reduced(values: Sequence[float], statistic: str) -> float:
    """Return a statistic of values."""
    if statistic in _PLAIN:
        return float(_PLAIN[statistic](values))
    if percentile := _PERCENTILE.match(statistic):
        return _quantile(sorted(values), float(percentile[1]) / 100)
    if rank := _RANK.match(statistic):
        low = float(rank[1]) if rank[1] else -math.inf
        high = float(rank[2]) if rank[2] else math.inf
        return 100 * sum(low < one <= high for one in values) / len(values)
    raise UnknownStatisticError(statistic)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))
