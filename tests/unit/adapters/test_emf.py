"""Metrics as CloudWatch reads them from a log: few lines, each within the format's limits."""

import json
import sys
from typing import Any

import pytest

from functions.adapters.emf import FunctionMetrics
from functions.core.metrics import UnknownMetricError

NOW_MS = 1_700_000_000_000


class Run:
    """The metrics of a function, and the lines that they became."""

    def __init__(self, service: str = "embed") -> None:
        self.lines: list[str] = []
        self.metrics = FunctionMetrics(
            service, "test", now_ms=lambda: NOW_MS, write=self.lines.append
        )

    def flush(self) -> list[dict[str, Any]]:
        self.metrics.flush()
        return [json.loads(line) for line in self.lines]


def test_line_is_written_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """R60: on one machine several processes write into one file."""
    pieces: list[str] = []
    monkeypatch.setattr(sys.stdout, "write", pieces.append)
    metrics = FunctionMetrics("embed")
    metrics.add("TasksCompleted", 1)

    metrics.flush()

    [line] = pieces
    assert line.endswith("}\n")


def test_counters_add_up_and_distributions_keep_each_value() -> None:
    """R60: one line, with the units; nothing is said about a counter that is zero."""
    run = Run()
    for value in (1, 2):
        run.metrics.add("TasksCompleted", value)
        run.metrics.add("Attempts", value)
    run.metrics.add("TasksFailed", 0)
    run.metrics.add("GuardWaitMilliseconds", 0)

    assert run.flush() == [
        {
            "_aws": {
                "Timestamp": NOW_MS,
                "CloudWatchMetrics": [
                    {
                        "Namespace": "embedq",
                        "Dimensions": [["service", "stage"]],
                        "Metrics": [
                            {"Name": "TasksCompleted", "Unit": "Count"},
                            {"Name": "Attempts", "Unit": "Count"},
                            {"Name": "GuardWaitMilliseconds", "Unit": "Milliseconds"},
                        ],
                    }
                ],
            },
            "service": "embed",
            "stage": "test",
            "TasksCompleted": 3,
            "Attempts": [1, 2],
            "GuardWaitMilliseconds": 0,
        }
    ]
    assert run.lines == [run.lines[0]]


def test_metric_with_dimensions_counts_for_the_whole_too() -> None:
    """R60: in the line of the others, as long as no dimension has two values."""
    run = Run()
    run.metrics.add("TasksCompleted", 1)
    run.metrics.add("TokensPaid", 7, (("lane", "high"), ("model", "small")))
    run.metrics.add("FreshnessMilliseconds", 9, (("lane", "high"), ("source", "a")))

    [line] = run.flush()

    described = line["_aws"]["CloudWatchMetrics"]
    assert [(one["Dimensions"], one["Metrics"][0]["Name"]) for one in described] == [
        ([["service", "stage"]], "TasksCompleted"),
        ([["service", "stage"], ["service", "stage", "lane", "model"]], "TokensPaid"),
        ([["service", "stage"], ["service", "stage", "lane", "source"]], "FreshnessMilliseconds"),
    ]
    assert (line["lane"], line["model"], line["source"]) == ("high", "small", "a")


def test_two_values_of_a_dimension_are_two_lines() -> None:
    """R60: a line has room for one."""
    run = Run()
    for source in ("a", "b", "a"):
        run.metrics.add("FreshnessMilliseconds", 9, (("lane", "high"), ("source", source)))

    assert [(one["source"], one["FreshnessMilliseconds"]) for one in run.flush()] == [
        ("a", [9, 9]),
        ("b", 9),
    ]


def test_parts_of_a_gauge_are_apart_from_the_whole() -> None:
    """R60: the whole of two sources is not the larger one."""
    run = Run("sweep")
    run.metrics.add("StuckDocuments", 5)
    for source, stuck in (("a", 2), ("b", 3)):
        run.metrics.add("StuckDocuments", stuck, (("source", source),))

    written = [
        (one["StuckDocuments"], one["_aws"]["CloudWatchMetrics"][0]["Dimensions"])
        for one in run.flush()
    ]

    detailed = [["service", "stage", "source"]]
    assert written == [(5, [["service", "stage"]]), (2, detailed), (3, detailed)]


def test_hundredth_value_is_written_at_once() -> None:
    """R60: the format takes no more in one line."""
    run = Run()
    for value in range(150):
        run.metrics.add("Attempts", value)

    assert [len(one["Attempts"]) for one in run.flush()] == [100, 50]


@pytest.mark.parametrize("fails", [False, True])
def test_run_writes_its_metrics_also_when_it_fails(fails: bool) -> None:
    """R60: and the next one begins anew; a run with nothing to count is silent."""
    run = Run()

    @run.metrics.log_metrics
    def handler(counts: bool) -> str:
        if counts:
            run.metrics.add("TasksCompleted", 1)
        if fails:
            raise LookupError
        return "answer"

    for counts in (True, False):
        if fails:
            with pytest.raises(LookupError):
                handler(counts)
        else:
            assert handler(counts) == "answer"

    assert len(run.lines) == 1


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [
        ("TasksCompletd", ()),
        ("TasksCompleted", (("lane", "high"),)),
        ("TokensPaid", (("model", "small"), ("lane", "high"))),
    ],
)
def test_what_is_not_written_down_cannot_be_counted(
    name: str, dimensions: tuple[tuple[str, str], ...]
) -> None:
    """R60: neither another name nor other dimensions, whose number would cost money."""
    with pytest.raises(UnknownMetricError, match=r"metrics\.py"):
        Run().metrics.add(name, 1, dimensions)
