"""docs/metrics.md from the metrics that the functions may write, written by `make docs`."""

from pathlib import Path

from functions.core.metrics import METRICS, Kind, Metric
from functions.core.names import METRICS_NAMESPACE
from infrastructure.monitoring.ratios import RATIOS

PATH = Path(__file__).resolve().parents[1] / "docs/metrics.md"
INTRODUCTION = f"""# Metrics

Made by `make docs` from `functions/core/metrics.py`; no function can write another one.

Namespace `{METRICS_NAMESPACE}`, dimensions `service` (the function) and `stage`. A metric with \
more dimensions is written twice: with these two, and with these two and the ones named here. \
Their values are few: the sources, targets, lanes and models of the stage, and the failure kinds.

A *counter* is added up (`Sum`) and says nothing about zero. A *gauge* is what stands \
(`Maximum`), also zero. A *distribution* has a value for each document or run: `p50`, `p95`, and \
`PR(:1)` for the share up to 1, which makes a histogram.

CloudWatch charges for each metric in each hour in which it was written, and for the bytes of the \
log lines that carry them: a run of embed has one such line of about a kilobyte in most cases.
"""


def metrics_page() -> str:
    """Return the page."""
    rows = [f"| `{name}` | {_how(one)} | {one.meaning} |" for name, one in METRICS.items()]
    ratios = [f"| {name} | {one.meaning} | `{one.expression}` |" for name, one in RATIOS.items()]
    return "\n".join(
        [
            INTRODUCTION,
            "| metric | function, unit, dimensions | meaning |",
            "|---|---|---|",
            *rows,
            "",
            "## Made from them",
            "",
            "On the dashboard and in alarms, in percent, over metrics of embed:",
            "",
            "| ratio | meaning | expression |",
            "|---|---|---|",
            *ratios,
            "",
        ]
    )


def _how(metric: Metric) -> str:
    unit = "" if metric.unit in ("Count", "None") else f" in {metric.unit.lower()}"
    kind = f"{metric.kind}{unit}"
    if metric.kind is Kind.GAUGE and metric.parts_are_apart:
        kind += ", the parts apart from the whole"
    by = f", by {', '.join(f'`{name}`' for name in metric.dimensions)}" if metric.dimensions else ""
    return f"{', '.join(metric.services)}: {kind}{by}"


def main() -> None:
    """Write the page."""
    PATH.write_text(metrics_page())


if __name__ == "__main__":
    main()
