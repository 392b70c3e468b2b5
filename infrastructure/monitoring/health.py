"""What only the functions can measure: breakers, budgets, stuck, failed, drifted, late."""

from collections.abc import Iterator

from aws_cdk import aws_cloudwatch as cloudwatch

from functions.core.budget import FULL_PERCENT
from infrastructure.config.alarms import AlarmsConfig
from infrastructure.config.stage import StageConfig
from infrastructure.monitoring.ratios import RETRY_RATE, variable
from infrastructure.monitoring.watches import HALF_AN_HOUR, HOUR, PERIOD, Watch, own_metric

# The functions that read control items.
READERS = ("enqueue", "embed", "sweep", "breaker")
DAY_SECONDS = 24 * 3600


def watch_health(stage: str, config: StageConfig) -> Iterator[Watch]:
    """Watch what only the functions can measure."""
    limits = config.alarms
    yield from _breakers(stage)
    yield from _budgets(stage, limits)
    yield _indexes(stage)
    yield from _documents(stage, limits)
    yield from _proof(stage, config)
    yield _retries(stage, limits)
    yield _freshness(stage, limits)


def _breakers(stage: str) -> Iterator[Watch]:
    yield Watch(
        "BreakerOpen",
        page="breaker-is-open",
        metric=own_metric("BreakerOpen", service="breaker", stage=stage, statistic="Maximum"),
        above=0,
        is_critical=True,
        stops_embedding=True,
        description="A breaker is open or paused: a target's lanes are not read, and search shows"
        " old text. Nothing is lost: tasks wait in their lanes. `embedq breakers` shows which"
        " one and why. A key, a quota or a model name is for you to fix; an outage ends by itself,"
        " as a probe finds out; a pause by hand ends with `embedq resume`.",
    )
    yield Watch(
        "ControlUnreadable",
        page="control-unreadable",
        metric=cloudwatch.MathExpression(
            expression=" + ".join(f"FILL({service}, 0)" for service in READERS),
            label="reads of control items that failed",
            period=PERIOD,
            using_metrics={
                service: own_metric("ControlUnreadable", service=service, stage=stage)
                for service in READERS
            },
        ),
        above=0,
        periods=2,
        description="A target's control item in the ledger table cannot be read, so embed works"
        " on without breaker and shared cooldown. Requests may be sent in vain. Look for throttled"
        " or denied calls of the ledger table in the logs of enqueue, embed, sweep and breaker.",
    )


def _budgets(stage: str, limits: AlarmsConfig) -> Iterator[Watch]:
    used = own_metric("BudgetUsedPercent", service="sweep", stage=stage, statistic="Maximum")
    yield Watch(
        "BudgetNearlyUsed",
        page="budget",
        metric=used,
        above=limits.budget_percent - 1,
        description=f"A target has used {limits.budget_percent} % of its budget: with the usual"
        " live_share, documents of the bulk lane wait from here on, and live writes when all of it"
        " is used. `embedq budget` shows which one, and until when. Find out what is embedded that"
        " much, or raise it with `embedq budget raise`.",
    )
    yield Watch(
        "BudgetUsedUp",
        page="budget",
        metric=used,
        above=FULL_PERCENT - 1,
        is_critical=True,
        description="A target's budget is used up: new and changed texts are not embedded, and"
        " search shows old text. Deletes go on. Nothing is lost: the documents wait until the"
        " day or the month ends. `embedq budget` shows which one; `embedq budget raise` lets them"
        " go on within minutes.",
    )


def _indexes(stage: str) -> Watch:
    return Watch(
        "LostIndex",
        page="index-was-lost",
        metric=own_metric("LostIndexes", service="sweep", stage=stage, statistic="Maximum"),
        above=0,
        is_critical=True,
        stops_embedding=True,
        description="The index of a target is gone, or is another one than before: what was"
        " indexed is not found. The line index_lost in the sweep log names it. Unless its entries"
        " were moved on purpose, give the target another index name, deploy, and write the items"
        " again.",
    )


def _documents(stage: str, limits: AlarmsConfig) -> Iterator[Watch]:
    def counted(name: str) -> cloudwatch.Metric:
        return own_metric(
            name, service="sweep", stage=stage, statistic="Maximum", period=HALF_AN_HOUR
        )

    for id_, most, is_critical in (
        ("StuckDocuments", limits.stuck_documents, False),
        ("StuckDocumentsCritical", limits.stuck_documents_critical, True),
    ):
        yield Watch(
            id_,
            page="stuck-documents",
            metric=counted("StuckDocuments"),
            above=most,
            periods=2,
            is_critical=is_critical,
            description=f"More than {most} documents have been stuck for an hour: nothing is known"
            " of their tasks since stuck_hours. Sweep sends them again. If the number does not"
            " fall, look for kills, timeouts or a lack of memory in the embed log.",
        )
    yield Watch(
        "FailedDocuments",
        page="failed-documents",
        metric=counted("FailedDocuments"),
        above=limits.failed_documents,
        is_critical=True,
        description=f"More than {limits.failed_documents} documents wait for a person: they were"
        " given up, and are not up to date in the index. Find their causes with `embedq dead"
        " causes`. Many documents of one cause are one fault.",
    )
    yield Watch(
        "UnresolvedDocuments",
        page="failed-documents",
        metric=cloudwatch.MathExpression(
            expression="MAX([FILL(failed, 0), FILL(stuck, 0)])",
            label="seconds since the oldest document failed or was heard of",
            period=HALF_AN_HOUR,
            using_metrics={
                "failed": counted("OldestFailedSeconds"),
                "stuck": counted("OldestStuckSeconds"),
            },
        ),
        above=limits.unresolved_days * DAY_SECONDS,
        is_critical=True,
        description="A document has been failed or stuck for more than"
        f" {limits.unresolved_days} days. Search shows its old text. Dead letters are kept for 14"
        " days only: decide with `embedq dead list` and `embedq stuck` what is sent again, and"
        " what is exported and removed.",
    )
    yield Watch(
        "ExhaustedDocuments",
        page="given-up-documents",
        metric=cloudwatch.MathExpression(
            expression="FILL(exhausted, 0) + FILL(given_up, 0)",
            label="documents that ended without success",
            period=HOUR,
            using_metrics={
                "exhausted": own_metric("TasksExhausted", service="sweep", stage=stage),
                "given_up": own_metric("TasksGivenUp", service="embed", stage=stage),
            },
        ),
        above=limits.given_up_per_hour,
        is_critical=True,
        description=f"More than {limits.given_up_per_hour} documents were refused or ran out of"
        " retries within an hour. They are not up to date in the index, and nothing tries them"
        " again. Find the common reason with embedq dead list, fix it, then redrive the DLQ; what"
        " has no dead letter is sent again with embedq requeue.",
    )


def _proof(stage: str, config: StageConfig) -> Iterator[Watch]:
    yield Watch(
        "FailedJobs",
        page="backfill-failed",
        metric=own_metric("JobsFailed", service="backfill", stage=stage),
        above=0,
        is_critical=True,
        description="A backfill has failed: one of its segments could not be scanned or sent for"
        " hours. Its documents are not all in the index. `embedq jobs` shows why; correct it, then"
        " `embedq jobs resume ID` goes on where it stopped.",
    )
    if not config.verify.days:
        return
    days = config.verify.days + config.alarms.late_proof_days
    yield Watch(
        "Drifted",
        page="drifted-documents",
        metric=own_metric("Drifted", service="backfill", stage=stage),
        above=0,
        is_critical=True,
        description="Documents were found whose entries are not what their items ask for, and the"
        " ledger does not say why. The lines document_drifted in the backfill log name them."
        " Unless verify.repair is on, `embedq verify --repair` sends them again.",
    )
    yield Watch(
        "OldestVerified",
        page="proof-is-late",
        metric=own_metric(
            "OldestVerifiedSeconds",
            service="backfill",
            stage=stage,
            statistic="Maximum",
            period=HOUR,
        ),
        above=days * DAY_SECONDS,
        description=f"Some documents have not been compared with their table for more than"
        f" {days} days. Look for errors in the backfill log; if"
        " there are none, the table is too large for verify.days in cdk.json: raise it.",
    )


def _retries(stage: str, limits: AlarmsConfig) -> Watch:
    return Watch(
        "RetryRate",
        page="failed-attempts",
        metric=cloudwatch.MathExpression(
            expression=RETRY_RATE.expression,
            label="failed attempts in percent",
            period=PERIOD,
            using_metrics={
                variable(name): own_metric(name, service="embed", stage=stage)
                for name in RETRY_RATE.metrics
            },
        ),
        above=limits.retry_percent,
        periods=3,
        description=f"More than {limits.retry_percent} % of attempts have failed for 15 minutes."
        " Documents are late, and attempts cost tokens and time. Look at the kinds of failure in"
        " the embed log: timeouts and errors of the provider pass, the others are for you to fix.",
    )


def _freshness(stage: str, limits: AlarmsConfig) -> Watch:
    return Watch(
        "Freshness",
        page="late-documents",
        metric=own_metric("FreshnessMilliseconds", service="embed", stage=stage, statistic="p95"),
        above=limits.freshness_minutes * 60 * 1000,
        periods=3,
        description=f"For 15 minutes documents have come into the index late: one in twenty more"
        f" than {limits.freshness_minutes} minutes after its write. Search shows old text. After an"
        " outage and during a large bulk load this is the backlog; else look for the lane that is"
        " deep with `embedq stats`, and raise its concurrency or the limit at the provider.",
    )
