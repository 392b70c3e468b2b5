"""Metrics by the minute: what functions wrote is found under the dimensions that they named."""

import pytest

from functions.adapters.emf import FunctionMetrics
from local.watch.store import KEPT_MINUTES, MINUTE_MS, MetricId, MetricStore, Window

NOW_MS = 1_700_000_040_000 - 1_700_000_040_000 % MINUTE_MS
METRIC = MetricId.of("n", "m")


def test_what_a_function_writes_is_found_by_each_set_of_dimensions() -> None:
    """R60: the line of the function is all that the store gets."""
    store = MetricStore()
    metrics = FunctionMetrics(
        "embed", "test", now_ms=lambda: NOW_MS, write=lambda line: lines.append(line)
    )
    lines: list[str] = []
    metrics.add("TasksCompleted", 2)
    for source, value in (("a", 10), ("b", 30)):
        metrics.add("FreshnessMilliseconds", value, (("lane", "high"), ("source", source)))
    metrics.flush()

    assert [store.read_line(line) for line in lines] == [True, True]

    window = Window(NOW_MS + MINUTE_MS, 60, 1)
    whole = {"service": "embed", "stage": "test"}
    fresh = MetricId.of("embedq", "FreshnessMilliseconds", **whole)
    of_a = MetricId.of("embedq", "FreshnessMilliseconds", **whole, lane="high", source="a")
    assert store.statistics(fresh, "Maximum", window) == [30.0]
    assert store.statistics(of_a, "Maximum", window) == [10.0]
    assert store.metrics()[fresh] == "Milliseconds"


@pytest.mark.parametrize(
    "line", ["", "text", '{"message": "task_completed"}', '{"CloudWatchMetrics"']
)
def test_other_lines_are_passed_over(line: str) -> None:
    """R60: a log has more than metrics."""
    store = MetricStore()

    assert not store.read_line(line)
    assert store.metrics() == {}


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        ("Sum", 10.0),
        ("Average", 2.5),
        ("Minimum", 1.0),
        ("Maximum", 4.0),
        ("SampleCount", 4.0),
        ("p50", 2.5),
        ("p100", 4.0),
        ("PR(:2)", 50.0),
        ("PR(1:3)", 50.0),
        ("PR(3:)", 25.0),
    ],
)
def test_statistics_of_a_period(statistic: str, expected: float) -> None:
    """R60: of all values of its minutes."""
    store = MetricStore()
    for minute, value in enumerate((1, 2, 3, 4)):
        store.put(METRIC, [value], at_ms=NOW_MS + minute * MINUTE_MS)

    assert store.statistics(METRIC, statistic, Window(NOW_MS + 4 * MINUTE_MS, 240, 1)) == [expected]


def test_period_without_a_value_is_missing() -> None:
    """R61: it is not zero."""
    store = MetricStore()
    store.put(METRIC, [0.0], at_ms=NOW_MS)

    assert store.statistics(METRIC, "Sum", Window(NOW_MS + 120_000, 60, 3)) == [None, 0.0, None]


def test_metrics_of_yesterday_are_forgotten() -> None:
    """R60: a stack may run for weeks."""
    store = MetricStore()
    for minute in range(KEPT_MINUTES + 10):
        store.put(METRIC, [1.0], at_ms=NOW_MS + minute * MINUTE_MS)

    end_ms = NOW_MS + (KEPT_MINUTES + 10) * MINUTE_MS
    assert store.statistics(METRIC, "Sum", Window(end_ms, 3600, 40))[:12] == [None] * 12
