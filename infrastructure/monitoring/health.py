"""Alarms on the metrics that the functions write: breakers, budgets, stuck, failed, late."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from functions.core.budget import FULL_PERCENT
from functions.core.names import METRICS_NAMESPACE
from infrastructure.config.stage import StageConfig
from infrastructure.monitoring.alarms import PERIOD, Alarms

STUCK_DOCUMENTS = 50
ENDED_DOCUMENTS = 10
RETRY_PERCENT = 10
BUDGET_WARNING_PERCENT = 80
FRESHNESS_MINUTES = 15
# The functions that read control items.
READERS = ("enqueue", "embed", "sweep", "breaker")
# The proof may be so much later than it was asked for.
LATE_PROOF_DAYS = 2
# Fewer tasks make no rate.
LEAST_TASKS = 20
# Sweep counts the stuck every 15 minutes: each half hour holds a count for sure.
HALF_AN_HOUR = Duration.minutes(30)


def watch_health(alarms: Alarms, stage: str, config: StageConfig) -> None:
    """Watch what only the functions can measure."""
    _watch_breakers(alarms, stage)
    _watch_budgets(alarms, stage)
    _watch_indexes(alarms, stage)
    _watch_documents(alarms, stage)
    _watch_proof(alarms, stage, config)
    _watch_retries(alarms, stage)
    _watch_freshness(alarms, stage)


def _watch_breakers(alarms: Alarms, stage: str) -> None:
    alarms.add(
        "BreakerOpen",
        metric=_metric("BreakerOpen", service="breaker", stage=stage, statistic="Maximum"),
        above=0,
        topic=alarms.topics.critical,
        description="A breaker is open or paused: a target's lanes are not read, and search shows"
        " old text. Nothing is lost: tasks wait in their lanes. `embedq breakers` shows which"
        " one and why. A key, a quota or a model name is for you to fix; an outage ends by itself,"
        " as a probe finds out; a pause by hand ends with `embedq resume`.",
    )
    alarms.add(
        "ControlUnreadable",
        metric=cloudwatch.MathExpression(
            expression=" + ".join(f"FILL({service}, 0)" for service in READERS),
            label="reads of control items that failed",
            period=PERIOD,
            using_metrics={
                service: _metric("ControlUnreadable", service=service, stage=stage)
                for service in READERS
            },
        ),
        above=0,
        periods=2,
        topic=alarms.topics.warning,
        description="A target's control item in the ledger table cannot be read, so embed works"
        " on without breaker and shared cooldown. Requests may be sent in vain. Look for throttled"
        " or denied calls of the ledger table in the logs of enqueue, embed, sweep and breaker.",
    )


def _watch_budgets(alarms: Alarms, stage: str) -> None:
    used = _metric("BudgetUsedPercent", service="sweep", stage=stage, statistic="Maximum")
    alarms.add(
        "BudgetNearlyUsed",
        metric=used,
        above=BUDGET_WARNING_PERCENT - 1,
        topic=alarms.topics.warning,
        description=f"A target has used {BUDGET_WARNING_PERCENT} % of its budget: with the usual"
        " live_share, documents of the bulk lane wait from here on, and live writes when all of it"
        " is used. `embedq budget` shows which one, and until when. Find out what is embedded that"
        " much, or raise it with `embedq budget raise`.",
    )
    alarms.add(
        "BudgetUsedUp",
        metric=used,
        above=FULL_PERCENT - 1,
        topic=alarms.topics.critical,
        description="A target's budget is used up: new and changed texts are not embedded, and"
        " search shows old text. Deletes go on. Nothing is lost: the documents wait until the"
        " day or the month ends. `embedq budget` shows which one; `embedq budget raise` lets them"
        " go on within minutes.",
    )


def _watch_indexes(alarms: Alarms, stage: str) -> None:
    alarms.add(
        "LostIndex",
        metric=_metric("LostIndexes", service="sweep", stage=stage, statistic="Maximum"),
        above=0,
        topic=alarms.topics.critical,
        description="The index of a target is gone, or is another one than before: what was"
        " indexed is not found. The line index_lost in the sweep log names it. Unless its entries"
        " were moved on purpose, give the target another index name, deploy, and write the items"
        " again.",
    )


def _watch_documents(alarms: Alarms, stage: str) -> None:
    alarms.add(
        "StuckDocuments",
        metric=_metric(
            "StuckDocuments",
            service="sweep",
            stage=stage,
            statistic="Maximum",
            period=HALF_AN_HOUR,
        ),
        above=STUCK_DOCUMENTS,
        periods=2,
        topic=alarms.topics.warning,
        description=f"More than {STUCK_DOCUMENTS} documents have been stuck for an hour: nothing"
        " is known of their tasks since stuck_hours. Sweep sends them again. If the number does"
        " not fall, look for kills, timeouts or a lack of memory in the embed log.",
    )
    alarms.add(
        "ExhaustedDocuments",
        metric=cloudwatch.MathExpression(
            expression="FILL(exhausted, 0) + FILL(given_up, 0)",
            label="documents that ended without success",
            period=Duration.hours(1),
            using_metrics={
                "exhausted": _metric("TasksExhausted", service="sweep", stage=stage),
                "given_up": _metric("TasksGivenUp", service="embed", stage=stage),
            },
        ),
        above=ENDED_DOCUMENTS,
        topic=alarms.topics.critical,
        description=f"More than {ENDED_DOCUMENTS} documents were refused or ran out of retries"
        " within an hour. They are not up to date in the index, and nothing tries them again."
        " Find the common reason with embedq dead list, fix it, then redrive the DLQ; what has"
        " no dead letter is sent again with embedq requeue.",
    )


def _watch_proof(alarms: Alarms, stage: str, config: StageConfig) -> None:
    alarms.add(
        "FailedJobs",
        metric=_metric("JobsFailed", service="backfill", stage=stage),
        above=0,
        topic=alarms.topics.critical,
        description="A backfill has failed: one of its segments could not be scanned or sent for"
        " hours. Its documents are not all in the index. `embedq jobs` shows why; correct it, then"
        " `embedq jobs resume ID` goes on where it stopped.",
    )
    if not config.verify.days:
        return
    alarms.add(
        "Drifted",
        metric=_metric("Drifted", service="backfill", stage=stage),
        above=0,
        topic=alarms.topics.critical,
        description="Documents were found whose entries are not what their items ask for, and the"
        " ledger does not say why. The lines document_drifted in the backfill log name them."
        " Unless verify.repair is on, `embedq verify --repair` sends them again.",
    )
    alarms.add(
        "OldestVerified",
        metric=_metric(
            "OldestVerifiedSeconds",
            service="backfill",
            stage=stage,
            statistic="Maximum",
            period=Duration.hours(1),
        ),
        above=(config.verify.days + LATE_PROOF_DAYS) * 24 * 3600,
        topic=alarms.topics.warning,
        description=f"Some documents have not been compared with their table for more than"
        f" {config.verify.days + LATE_PROOF_DAYS} days. Look for errors in the backfill log; if"
        " there are none, the table is too large for verify.days in cdk.json: raise it.",
    )


def _watch_retries(alarms: Alarms, stage: str) -> None:
    failed, completed = "FILL(failed, 0)", "FILL(completed, 0)"
    tasks = f"({failed} + {completed})"
    alarms.add(
        "RetryRate",
        metric=cloudwatch.MathExpression(
            expression=f"IF({tasks} >= {LEAST_TASKS}, 100 * {failed} / {tasks}, 0)",
            label="failed attempts in percent",
            period=PERIOD,
            using_metrics={
                "failed": _metric("TasksFailed", service="embed", stage=stage),
                "completed": _metric("TasksCompleted", service="embed", stage=stage),
            },
        ),
        above=RETRY_PERCENT,
        periods=3,
        topic=alarms.topics.warning,
        description=f"More than {RETRY_PERCENT} % of attempts have failed for 15 minutes."
        " Documents are late, and attempts cost tokens and time. Look at the kinds of failure in"
        " the embed log: timeouts and errors of the provider pass, the others are for you to fix.",
    )


def _watch_freshness(alarms: Alarms, stage: str) -> None:
    alarms.add(
        "Freshness",
        metric=_metric("FreshnessMilliseconds", service="embed", stage=stage, statistic="p95"),
        above=FRESHNESS_MINUTES * 60 * 1000,
        periods=3,
        topic=alarms.topics.warning,
        description=f"For 15 minutes documents have come into the index late: one in twenty more"
        f" than {FRESHNESS_MINUTES} minutes after its write. Search shows old text. After an"
        " outage and during a large bulk load this is the backlog; else look for the lane that is"
        " deep with `embedq stats`, and raise its concurrency or the limit at the provider.",
    )


def _metric(
    name: str,
    *,
    service: str,
    stage: str,
    statistic: str = "Sum",
    period: Duration = PERIOD,
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=METRICS_NAMESPACE,
        metric_name=name,
        # As Powertools writes them: the function's folder, and the stage.
        dimensions_map={"service": service, "stage": stage},
        period=period,
        statistic=statistic,
    )
