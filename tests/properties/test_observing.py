"""What an operator sees: a line in the log for every step, and counts that are right."""

import io
import json
from collections import Counter
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from aws_lambda_powertools import Logger
from hypothesis import given
from hypothesis import strategies as st

from functions.adapters.emf import FunctionMetrics
from functions.adapters.telemetry import PowertoolsTelemetry
from functions.core.failure import FailureKind
from functions.core.identity import DocumentId, entry_id
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.core.retry_policy import PRESETS, RetryPolicy, RetrySettings
from ops.statistics import LABELS, stats
from tests.builders import make_target
from tests.console.memory_metrics import MemoryMetrics
from tests.properties.articles import (
    CHARGED,
    QUICK,
    WRITES,
    Articles,
    Write,
    thorough,
)

PARTS = st.lists(WRITES, min_size=1, max_size=3)
FAILURES = st.lists(
    CHARGED | st.sampled_from((None, FailureKind.INVALID_INPUT, FailureKind.STORE_UNAVAILABLE)),
    min_size=3,
    max_size=10,
)
RETRIES = st.sampled_from(
    (
        QUICK,
        RetrySettings(default=PRESETS["slow-3"]),  # parked between the attempts
        RetrySettings(default=RetryPolicy(max_attempts=1)),  # healing at once
    )
)
ENDS = {
    Status.COMPLETED: "task_completed",
    Status.PARTIALLY_COMPLETED: "task_partially_completed",
    Status.DELETED: "task_deleted",
    Status.SKIPPED: "task_skipped",
    Status.PROCESSING: "task_started",
    Status.FAILED_MAX_RETRIES: "task_given_up",
}
BEGINNINGS = ("change_accepted", "task_requeued")
RETURNS = ("task_failed", "task_parked", "task_moved", "task_healing")


def event_of(before: LedgerRow | None, after: LedgerRow) -> str | None:
    """Name the log line that a step in the ledger is owed."""
    if before is None or before.position != after.position:
        return "change_accepted"
    if before.task.version != after.task.version:
        is_moved = before.task.lane is Lane.DELETE is not after.task.lane
        return "task_moved" if is_moved else "task_requeued"
    if before.status is after.status is Status.PENDING:
        return None  # the send of a requeue is confirmed
    if after.status in ENDS:
        return ENDS[after.status]
    if after.status is Status.FAILED:
        return "task_healing" if after.is_healing else "task_given_up"
    return "task_parked" if after.progress.parked else "task_failed"


def log_lines(events: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Write events as the functions do, and read them as CloudWatch does."""
    lines = io.StringIO()
    logger = Logger(service="audit", level="INFO", stream=lines, location=None)
    logger.handlers[0].setStream(lines)  # type: ignore[attr-defined]
    telemetry = PowertoolsTelemetry(logger, FunctionMetrics("audit"))
    for name, fields in events:
        telemetry.event(name, **fields)
    return [json.loads(line) for line in lines.getvalue().splitlines()]


@given(parts=PARTS, failures=FAILURES, retry=RETRIES)
@thorough
def test_comprehensive_audit_logging(
    parts: list[list[Write]], failures: list[FailureKind | None], retry: RetrySettings
) -> None:
    """R80 property 11: every creation, change of status and end is a line with its time."""
    articles = Articles(failures, target={"retry": retry})
    for part in parts:
        for write in part:
            articles.write(write)
        articles.pipeline.deliver_new()
        articles.work()
        articles.pipeline.clock.advance(1)
    articles.pipeline.drain()

    owed: Counter[tuple[str, str, int]] = Counter()
    standing: dict[str, LedgerRow] = {}
    for row in articles.ledger.history:
        name = event_of(standing.get(row.task.document_id), row)
        standing[row.task.document_id] = row
        if name is not None:
            owed[name, row.task.document_id, row.task.version] += 1
    lines = log_lines(articles.pipeline.telemetry.events)
    logged = Counter(
        (line["message"], line["document_id"], line["version"])
        for line in lines
        if line["message"] in (*BEGINNINGS, *RETURNS, *ENDS.values())
    )
    assert logged == owed
    times = [datetime.strptime(line["timestamp"], "%Y-%m-%d %H:%M:%S,%f%z") for line in lines]
    assert times == sorted(times)


def shown(articles: Articles) -> dict[str, int]:
    """Return what `embedq stats` counts."""

    def ask_index(_target: str, _action: str, body: dict[str, Any]) -> dict[str, int]:
        """Count the entries with given ids; nothing is said of the last hour."""
        wanted = [one["ids"]["values"] for one in body["query"]["bool"]["filter"] if "ids" in one]
        found = {entry_id("articles", DocumentId(name)) for name in articles.searchable()}
        return {"count": len(found.intersection(*wanted)) if wanted else 0}

    deployment: Any = SimpleNamespace(
        targets={"default": make_target()},
        ledger=articles.ledger,
        listed=articles.ledger.listed,
        ask_index=ask_index,
        control=articles.pipeline.control,
        count_searchable=lambda _: len(articles.searchable()),
        queues={"default": {}},
        count_dead_letters=lambda _: 0,
        outputs={"ErrandsQueueUrl": "embedq-dev-errands"},
        client=lambda _: MemoryMetrics("dev"),
    )
    [target] = stats(deployment).targets
    return target.counts | {
        "searchable": target.searchable,
        "open": target.open,
        "unique": target.unique or 0,
    }


def counted_as(row: LedgerRow) -> str | None:
    """Name the line that a document belongs to; None: it needs nothing more."""
    if row.status.is_open:
        return "parked" if row.progress.parked or not row.progress.sent else str(row.status)
    if row.status.is_failed:
        return "healing" if row.is_healing else "failed"
    return "partial" if row.status is Status.PARTIALLY_COMPLETED else None


@given(parts=PARTS, failures=FAILURES, retry=RETRIES)
@thorough
def test_accurate_queue_statistics(
    parts: list[list[Write]], failures: list[FailureKind | None], retry: RetrySettings
) -> None:
    """R80 property 12: at any moment, also inside a run, the counts are those of the documents."""
    articles = Articles(failures, target={"retry": retry})

    def recount() -> None:
        last = {row.task.document_id: row for row in articles.ledger.history}.values()
        counts = Counter(map(counted_as, last))
        found = shown(articles)
        searchable = found.pop("searchable")
        known = {
            row.task.document_id for row in last if counted_as(row)
        } | articles.searchable().keys()
        assert found.pop("unique") == len(known)
        assert found.pop("open") == sum(row.status.is_open or row.is_healing for row in last)
        assert found == {name: counts[name] for name in LABELS}
        assert searchable >= sum(row.status.is_searchable for row in last)

    articles.provider.meanwhile = recount
    articles.ledger.watch = lambda _: recount()
    for part in parts:
        for write in part:
            articles.write(write)
        recount()
        articles.pipeline.deliver_new()
        for _ in range(3):
            articles.work()
            recount()
            articles.pipeline.clock.advance(4)
