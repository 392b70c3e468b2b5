"""What is made from metrics: expressions for alarms, panels and docs/metrics.md.

A name in an expression is that of a metric of embed, in snake case.
"""

import re
from dataclasses import dataclass

# Fewer tasks make no rate.
LEAST_TASKS = 20


@dataclass(frozen=True)
class Ratio:
    """A number of CloudWatch's metric math."""

    meaning: str
    expression: str
    metrics: tuple[str, ...]


def variable(metric: str) -> str:
    """Name a metric inside an expression, which must begin with a small letter."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", metric).lower()


def _share(part: str, rest: str, meaning: str, *, least: int = 1, empty: str = "100") -> Ratio:
    """Return `part` in percent of `part` and `rest`; `empty` where both are too few."""
    mine, other = f"FILL({variable(part)}, 0)", f"FILL({variable(rest)}, 0)"
    expression = f"IF({mine} + {other} >= {least}, 100 * {mine} / ({mine} + {other}), {empty})"
    return Ratio(meaning, expression, (part, rest))


SUCCESS = _share("TasksCompleted", "TasksGivenUp", "documents indexed whole, of those that ended")
RETRY_SUCCESS = _share("RetriesSucceeded", "RetriesFailed", "retries that succeeded")
RETRY_RATE = _share(
    "TasksFailed",
    "TasksCompleted",
    f"attempts that failed, of {LEAST_TASKS} or more",
    least=LEAST_TASKS,
    empty="0",
)
REUSED = _share("ChunksReused", "ChunksPaid", "chunks whose vector was known", empty="0")
RATIOS = {
    "Success ratio": SUCCESS,
    "Retry rate": RETRY_RATE,
    "Retry success ratio": RETRY_SUCCESS,
    "Reused chunks": REUSED,
}
