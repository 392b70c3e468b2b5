"""A document's life, put together from the ledger, the events and the functions' logs."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

from functions.adapters.log_times import parsed, time_of
from functions.core.ledger_row import LedgerRow
from ops.document_rows import read_row
from ops.frame import DOCUMENT, SOURCE, TARGET, Noun
from ops.output import Answer, moment, say, table

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("Documents")
# Lines before the last change are of earlier versions: a little of them explains the last one.
LOOK_BACK = timedelta(days=1)
# What the columns of a line have already said.
ALREADY_SHOWN = {
    "level",
    "location",
    "message",
    "timestamp",
    "service",
    "source",
    "target",
    "document_id",
    "trace_id",
    "xray_trace_id",
}


class TimelineEntry(Answer):
    """One thing that happened to a document."""

    at: datetime
    where: str  # table, ledger, event, or the function that logged it
    what: str
    details: dict[str, Any]


class Timeline(Answer):
    """All that is known, the first thing first."""

    row: str
    status: str
    entries: tuple[TimelineEntry, ...]

    def view(self) -> Iterable[Any]:
        yield f"{self.row}: {self.status}"
        same = groupby(self.entries, key=lambda one: (one.where, one.what, one.details))
        rows = [_row(list(entries)) for _, entries in same]
        yield table(["time (UTC)", "where", "what", "details"], rows)


def _row(entries: Sequence[TimelineEntry]) -> tuple[str, ...]:
    """Write what happened once, or several times in a row, as one row."""
    first = entries[0]
    details = [f"{name} {value}" for name, value in first.details.items()]
    if len(entries) > 1:
        details.append(f"{len(entries)} times until {entries[-1].at:%H:%M:%S}")
    at = first.at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return at, first.where, first.what, ", ".join(details)


@NOUN.stack_command(
    DOCUMENT,
    SOURCE,
    TARGET,
    examples=["timeline tortoise-and-hare", "timeline a --stage prod --json"],
)
def timeline(
    deployment: "Deployment",
    document: str,
    *,
    source: str | None = None,
    target: str | None = None,
) -> Timeline:
    """Show a document's life: writes, attempts, errors and outcome, from ledger and logs."""
    row = read_row(deployment, document, source=source, target=target)
    since = moment(min(row.created_ms, row.queued_ms)) - LOOK_BACK
    found = [*of_row(row), *_of_logs(deployment, row, max(since, datetime.now(UTC) - LOOK_BACK))]
    return Timeline(
        row=row.row_key,
        status=row.status,
        entries=tuple(sorted(found, key=lambda one: one.at)),
    )


def of_row(row: LedgerRow) -> Iterator[TimelineEntry]:
    """Say what the ledger knows."""
    version = {"version": row.task.version}
    progress, outcome = row.progress, row.outcome
    indexed = {"chunks": row.indexed.chunks_done, "tokens": row.indexed.tokens}
    times: list[tuple[int | None, str, str, dict[str, Any]]] = [
        (row.written_ms, "table", "written", {}),
        (row.created_ms, "ledger", "first seen", {}),
        (row.queued_ms, "ledger", "queued", {**version, "lane": str(row.task.lane)}),
        (progress.last_attempt_ms, "ledger", "last attempt", {"attempts": progress.attempts}),
        (progress.next_attempt_ms, "ledger", "next attempt", {}),
        (outcome.completed_ms, "ledger", str(row.status), indexed),
        (outcome.failed_ms, "ledger", str(row.status), {"reason": outcome.reason}),
    ]
    for at_ms, where, what, details in times:
        if at_ms:
            yield TimelineEntry(at=moment(at_ms), where=where, what=what, details=details)
    for error in row.errors:
        details = {"kind": str(error.kind), "message": error.message}
        yield TimelineEntry(at=moment(error.at_ms), where="ledger", what="error", details=details)


def of_line(line: Mapping[str, Any], row: LedgerRow) -> TimelineEntry | None:
    """Read one line of a log, if it is about this document."""
    named = (line.get("target", row.task.target), line.get("source"), line.get("document_id"))
    if named != (row.task.target, row.task.source, row.task.document_id):
        return None
    at = time_of(line)
    if at is None:
        return None
    return TimelineEntry(
        at=at,
        where=str(line.get("service", "log")),
        what=str(line.get("message")),
        details={name: value for name, value in line.items() if name not in ALREADY_SHOWN},
    )


def _of_logs(deployment: "Deployment", row: LedgerRow, since: datetime) -> Iterator[TimelineEntry]:
    for text in _lines(deployment, row.task.document_id, since):
        if (found := of_line(parsed(text), row)) is not None:
            yield found


def _lines(deployment: "Deployment", document: str, since: datetime) -> Iterator[str]:
    """Yield log lines that may be about a document, from where they are at hand."""
    if deployment.stage is None:
        from ops.local_logs import log_lines

        yield from (line.line for line in log_lines() if document in line.line)
        return
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield from _cloudwatch(deployment, document, since)
    except (ClientError, BotoCoreError) as error:
        say(f"the logs are not at hand, only the ledger: {error}")


def _cloudwatch(deployment: "Deployment", document: str, since: datetime) -> Iterator[str]:
    stack = deployment.stack_arn
    resources = deployment.client("cloudformation").get_paginator("list_stack_resources")
    logs = deployment.client("logs")
    for page in resources.paginate(StackName=stack):
        for one in page["StackResourceSummaries"]:
            if one["ResourceType"] != "AWS::Logs::LogGroup":
                continue
            events = logs.get_paginator("filter_log_events").paginate(
                logGroupName=one["PhysicalResourceId"],
                startTime=round(since.timestamp() * 1000),
                filterPattern=json.dumps(document),
            )
            yield from (event["message"] for found in events for event in found["events"])
