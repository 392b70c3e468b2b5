"""Metrics as CloudWatch's embedded metric format: lines of standard output, written by hand.

Powertools writes one line for each set of dimensions, and a list of ones for each counter; here a
run adds its counters up and has one line in most cases, as CloudWatch charges for the bytes.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import json
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from functions.adapters.clock import now_ms
from functions.core.metrics import WHOLE, Kind, named
from functions.core.names import METRICS_NAMESPACE

# The specification's limit for one metric of one line.
MOST_VALUES = 100

T = TypeVar("T")
Dimensions = tuple[tuple[str, str], ...]
# The values of each metric, by its dimensions beside the service and the stage.
Held = dict[Dimensions, dict[str, list[float]]]


def _write_line(line: str) -> None:
    # In one piece, unlike print: processes of a function share a file on one machine.
    sys.stdout.write(f"{line}\n")


class FunctionMetrics:
    """The metrics of one function, held until the end of a run.

    Its handler sets the stage when it builds the step: importing reads no environment.
    """

    def __init__(
        self,
        service: str,
        stage: str = "none",
        *,
        now_ms: Callable[[], int] = now_ms,
        write: Callable[[str], None] = _write_line,
    ) -> None:
        self.service = service
        self.stage = stage
        self._now_ms = now_ms
        self._write = write
        self._held: Held = {}

    def add(self, name: str, value: float, dimensions: Dimensions = ()) -> None:
        """Hold a value; a counter that is zero says nothing."""
        kind = named(name, tuple(key for key, _ in dimensions)).kind
        if not value and kind is Kind.COUNTER:
            return
        values = self._held.setdefault(dimensions, {}).setdefault(name, [])
        if kind is Kind.COUNTER and values:
            values[0] += value
        else:
            values.append(value)
        if len(values) == MOST_VALUES:
            self.flush()

    def flush(self) -> None:
        """Write what is held, in as few lines as there are, and forget it."""
        held, self._held = self._held, {}
        for groups in _lines(held):
            self._write(json.dumps(self._line(groups), separators=(",", ":")))

    def log_metrics(self, handler: Callable[..., T]) -> Callable[..., T]:
        """Write the metrics of each run at its end, also of one that fails."""

        @wraps(handler)
        def with_metrics(*args: Any, **kwargs: Any) -> T:
            try:
                return handler(*args, **kwargs)
            finally:
                self.flush()

        return with_metrics

    def _line(self, groups: Held) -> dict[str, Any]:
        line: dict[str, Any] = {
            "_aws": {
                "Timestamp": self._now_ms(),
                "CloudWatchMetrics": [
                    _directive(names, dimensions)
                    for dimensions, metrics in groups.items()
                    for names in _parts(dimensions, list(metrics))
                ],
            },
            "service": self.service,
            "stage": self.stage,
        }
        for dimensions, metrics in groups.items():
            line |= dict(dimensions)
            line |= {name: _number(values) for name, values in metrics.items()}
        return line


def _lines(held: Held) -> list[Held]:
    """Put together what one line can say: one value for each dimension, each metric once."""
    lines: list[Held] = []
    for dimensions, metrics in held.items():
        for line in lines:
            values = dict(pair for others in line for pair in others)
            agrees = all(values.get(key, value) == value for key, value in dimensions)
            if agrees and not any(metrics.keys() & others.keys() for others in line.values()):
                line[dimensions] = metrics
                break
        else:
            lines.append({dimensions: metrics})
    return lines


def _parts(dimensions: Dimensions, names: list[str]) -> list[list[str]]:
    """Part metrics whose whole is counted apart from the others."""
    apart = [name for name in names if dimensions and named(name).parts_are_apart]
    rest = [name for name in names if name not in apart]
    return [part for part in (rest, apart) if part]


def _directive(names: list[str], dimensions: Dimensions) -> dict[str, Any]:
    detailed = [*WHOLE, *(key for key, _ in dimensions)]
    is_apart = dimensions and named(names[0]).parts_are_apart
    sets = [detailed] if is_apart or not dimensions else [[*WHOLE], detailed]
    return {
        "Namespace": METRICS_NAMESPACE,
        "Dimensions": sets,
        "Metrics": [{"Name": name, "Unit": str(named(name).unit)} for name in names],
    }


def _number(values: list[float]) -> float | list[float]:
    return values[0] if len(values) == 1 else values
