"""The pages of the console: what each asks of the commands' functions, and its template."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.datastructures import QueryParams

from infrastructure.config.prices import price_of
from ops.actions import actions
from ops.budgets import show as show_budgets
from ops.causes import by_cause, failed_at
from ops.console import drawing
from ops.console.asking import values
from ops.console.sampling import Point
from ops.dead_letters import CauseLine, described, failed_document
from ops.deployment import STACK_ERRORS
from ops.document_rows import find_row
from ops.documents import status_of
from ops.jobs import list_jobs
from ops.migrating import status as migration_status
from ops.migration_answers import MigrationStatus
from ops.output import CommandError, UsageError
from ops.searching import search
from ops.selection import Selection
from ops.timeline import timeline

if TYPE_CHECKING:
    from ops.console.app import Console
    from ops.deployment import Deployment

# However many have failed, so many of the newest are read and grouped.
MOST_FAILURES = 1000
PAGE_ROWS = 50
DAY_SECONDS = 24 * 3600
MOST_ACTIONS = 100
MOST_DIGITS = 9
Context = dict[str, Any]


@dataclass(frozen=True)
class Page:
    """A page: its name, the key that leads there after g, and what it shows."""

    name: str
    key: str
    view: "Callable[[Console, QueryParams], Context]"


TRENDS = (
    ("waiting", "Messages in the lanes", ""),
    ("per_minute", "Searchable writes a minute", ""),
    ("oldest_seconds", "Age of the oldest that waits", "s"),
    ("failed", "Failed documents", ""),
)


def overview(console: "Console", query: QueryParams) -> Context:
    del query
    shown = console.sampler.snapshot
    return {
        "snapshot": shown,
        "trends": {name: trends_of(list(found)) for name, found in console.sampler.points.items()},
        "causes": failures(console, QueryParams())["groups"][:3] if shown else [],
        "jobs": [one for one in list_jobs(console.deployment).jobs if one.state == "running"],
        "budgets": show_budgets(console.deployment).budgets,
    }


def trends_of(points: list[Point]) -> list[Context]:
    """Describe the trends of one target."""
    found = []
    for name, label, unit in TRENDS:
        pairs = [(one.at, float(getattr(one, name))) for one in points]
        found.append(
            {
                "label": label,
                "unit": unit,
                "now": pairs[-1][1] if pairs else None,
                "drawn": drawing.trend(pairs),
                "minutes": (pairs[-1][0] - pairs[0][0]) / 60 if pairs else 0,
            }
        )
    return found


def failures(console: "Console", query: QueryParams) -> Context:
    asked = values("dead list", query)
    rows, total = Selection(**asked).newest(console.deployment, MOST_FAILURES)
    now = time.time()
    groups = []
    for one in by_cause(rows):
        times = [failed_at(row) / 1000 for row in one.rows]
        counts = drawing.histogram(times, since=now - DAY_SECONDS, until=now)
        groups.append({"line": CauseLine(**described(one)), "bars": drawing.bars(counts)})
    page = _page(query)
    shown = rows[page * PAGE_ROWS : (page + 1) * PAGE_ROWS]
    return {
        "groups": groups,
        "documents": [(row.task.target, failed_document(row), row.outcome.reason) for row in shown],
        "found": len(rows),
        "total": total,
        "most": MOST_FAILURES,
        "page": page,
        "has_more": len(rows) > (page + 1) * PAGE_ROWS,
        "types": sorted({row.type for row in rows if row.type}),
        "is_filtered": any(query.get(name) for name in ("cause", "type", "since", "source")),
        "snapshot": console.sampler.snapshot,
        "selection": {k: v for k, v in query.items() if k != "page" and v},
    }


def document(console: "Console", query: QueryParams) -> Context:
    name = query.get("document", "").strip()
    if not name:
        return {"life": None, "status": None, "row": None}
    asked = values("timeline", query)
    # A document that is not known yet is no mistake: it may have been written a moment ago.
    row = find_row(console.deployment, name, source=asked.get("source"), target=asked.get("target"))
    if row is None:
        return {"life": None, "status": None, "row": None}
    return {"life": timeline(console.deployment, **asked), "status": status_of(row), "row": row}


def searching(console: "Console", query: QueryParams) -> Context:
    if not query.get("query", "").strip():
        return {"found": None, "took": 0}
    began = time.monotonic()
    found = search(console.deployment, **values("search", _lines_apart(query)))
    return {"found": found, "took": time.monotonic() - began}


def breaker_lines(console: "Console", query: QueryParams) -> Context:
    del query
    return {"snapshot": console.sampler.snapshot}


def job_lines(console: "Console", query: QueryParams) -> Context:
    del query
    runs = [run for run in console.runs.newest() if run.command == "verify"]
    return {
        "jobs": list_jobs(console.deployment).jobs,
        "comparisons": runs,
        "migrations": migrations(console.deployment),
    }


def migrations(deployment: "Deployment") -> dict[str, MigrationStatus | str]:
    """Tell of each target that replaces another one how far it is, or why that is not known."""
    found: dict[str, MigrationStatus | str] = {}
    for name in (name for name, one in deployment.targets.items() if one.replaces is not None):
        try:
            found[name] = migration_status(deployment, target=name)
        except (*STACK_ERRORS, CommandError) as error:
            # Who may look at the jobs may not be allowed to ask for the alias.
            found[name] = str(error)
    return found


def budget_lines(console: "Console", query: QueryParams) -> Context:
    del query
    targets = console.deployment.targets.values()
    return {
        "budgets": show_budgets(console.deployment).budgets,
        "prices": [
            {"target": one, "price": one.usd_per_million_tokens or price_of(one.model)}
            for one in targets
        ],
    }


def past_actions(console: "Console", query: QueryParams) -> Context:
    del query
    found = actions(console.deployment, most=MOST_ACTIONS).actions
    return {"actions": found, "runs": console.runs.newest()}


def _page(query: QueryParams) -> int:
    written = query.get("page", "0")
    if not written.isdecimal() or len(written) > MOST_DIGITS:
        raise UsageError(f"page {written[:MOST_DIGITS]!r} is no number of a page")
    return int(written)


def _lines_apart(query: QueryParams) -> QueryParams:
    """Let one field of a form hold several conditions, with commas between them."""
    pairs = []
    for name, value in query.multi_items():
        parts = value.split(",") if name in ("filters", "without") else [value]
        pairs += [(name, part.strip()) for part in parts]
    return QueryParams(pairs)


PAGES: Mapping[str, Page] = {
    "/": Page("Overview", "o", overview),
    "/failures": Page("Failures", "f", failures),
    "/document": Page("Document", "d", document),
    "/search": Page("Search", "s", searching),
    "/breakers": Page("Breakers", "b", breaker_lines),
    "/jobs": Page("Jobs", "j", job_lines),
    "/budget": Page("Budget", "u", budget_lines),
    "/actions": Page("Actions", "a", past_actions),
}
