"""The dashboard of a stage: is it healthy, what waits, what fails, what does it cost."""

from collections.abc import Iterator, Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from functions.core.failure import FailureKind
from infrastructure.monitoring.alarms import Alarms
from infrastructure.monitoring.ratios import RATIOS, Ratio, variable
from infrastructure.monitoring.watches import HALF_AN_HOUR, PERIOD, own_metric
from infrastructure.names import stack_name
from infrastructure.parts import Parts

COLUMNS = 24
HEIGHT = 6
# Of the histogram of attempts: the share of documents up to so many.
ATTEMPTS = {"first attempt": "PR(:1)", "second": "PR(1:2)", "third": "PR(2:3)", "later": "PR(3:)"}


class Dashboard(Construct):
    """One page for a person who was called, the states of the alarms on top."""

    def __init__(self, scope: Construct, id_: str, *, parts: Parts, alarms: Alarms) -> None:
        super().__init__(scope, id_)
        board = cloudwatch.Dashboard(
            self,
            "Board",
            dashboard_name=stack_name(parts.stage),
            default_interval=Duration.hours(12),
        )
        board.add_widgets(
            cloudwatch.AlarmStatusWidget(
                title="Alarms",
                alarms=[alarms.down, *alarms.made[True], *alarms.made[False]],
                width=COLUMNS,
                height=HEIGHT,
            )
        )
        for title, panels in Panels(parts).rows():
            text = cloudwatch.TextWidget(markdown=f"## {title}", width=COLUMNS, height=1)
            board.add_widgets(text)
            board.add_widgets(*panels)


class Panels:
    """The panels of one stage, made from its parts."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stage = parts.stage

    def rows(self) -> Iterator[tuple[str, list[cloudwatch.IWidget]]]:
        """Yield the questions with their panels."""
        yield "Is it healthy?", self._healthy()
        yield "What waits?", self._waiting()
        yield "What fails?", self._failing()
        yield "What does it cost?", self._cost()

    def _healthy(self) -> list[cloudwatch.IWidget]:
        fresh = [
            self._own("FreshnessMilliseconds", f"{lane} {source} {share}", share, **by)
            for lane, source in self._lanes_and_sources()
            for by in [{"lane": lane, "source": source}]
            for share in ("p50", "p95")
        ]
        ratios = ("Success ratio", "Retry success ratio")
        workers = [
            embed.function.metric(
                "ConcurrentExecutions", statistic="Maximum", period=PERIOD, label=name
            )
            for name, embed in self._parts.embeds.items()
        ]
        rates = ("TasksCompleted", "TasksDeleted", "TasksPartiallyCompleted", "ChangesAccepted")
        services = {"ChangesAccepted": "enqueue"}
        return [
            _graph("Freshness: from write to search", fresh),
            _graph("Success, in percent", [self._ratio(RATIOS[name], name) for name in ratios]),
            _graph("Documents", [self._own(n, n, service=services.get(n, "embed")) for n in rates]),
            _graph("Workers busy", workers),
        ]

    def _waiting(self) -> list[cloudwatch.IWidget]:
        lanes = [
            (f"{target} {name}", queue)
            for target, found in self._parts.stores.lanes.items()
            for name, queue in found.queues.items()
        ]
        depth = [
            queue.metric_approximate_number_of_messages_visible(
                statistic="Maximum", period=PERIOD, label=name
            )
            for name, queue in lanes
        ]
        age = [
            queue.metric_approximate_age_of_oldest_message(
                statistic="Maximum", period=PERIOD, label=name
            )
            for name, queue in lanes
        ]
        held = ("ParkedDocuments", "HealingDocuments", "OverBudgetDocuments")
        iterator = self._parts.enqueue.function.metric(
            "IteratorAge", statistic="Maximum", period=PERIOD, label="stream"
        )
        limits = self._parts.config.alarms
        return [
            _graph("Messages in the lanes", depth),
            _graph("Oldest message, in seconds", age),
            _graph("Documents in the ledger", [self._gauge(name, name) for name in held]),
            _graph("Behind the streams, in milliseconds", [iterator]),
            _graph(
                "Stuck documents, by source",
                [self._gauge("StuckDocuments", one, source=one) for one in self._parts.streams],
                lines=(limits.stuck_documents, limits.stuck_documents_critical),
            ),
            _graph(
                "Requeued, and held back by backoff",
                [
                    self._own("TasksRequeued", "requeued", service="sweep"),
                    self._gauge("TasksSkippedByBackoff", "not due yet"),
                ],
            ),
        ]

    def _failing(self) -> list[cloudwatch.IWidget]:
        kinds = [self._own("Failures", str(kind), kind=str(kind)) for kind in FailureKind]
        given_up = [
            self._own("TasksGivenUp", "given up"),
            self._own("TasksExhausted", "stuck without attempts", service="sweep"),
        ]
        failed = [self._gauge("FailedDocuments", one, source=one) for one in self._parts.streams]
        attempts = [self._own("Attempts", name, share) for name, share in ATTEMPTS.items()]
        retried = [self._own("RetrySuccessMilliseconds", one, one) for one in ("p50", "p95")]
        breakers = [
            self._own("BreakerOpen", target, "Maximum", service="breaker", target=target)
            for target in self._parts.embeds
        ]
        errors = [
            function.function.metric_errors(period=PERIOD, label=name)
            for name, function in self._parts.functions.items()
        ]
        sweeps = [
            self._own("SweepDurationMilliseconds", "p95", "p95", service="sweep"),
            self._own("SweepJobsFailed", "failed jobs", service="sweep"),
        ]
        return [
            _graph("Failures by kind", kinds),
            _graph("Retry rate, in percent", [self._ratio(RATIOS["Retry rate"], "failed")]),
            _graph("Documents without retries left", given_up),
            _graph("Failed documents, by source", failed),
            _graph("Attempts of a document, in percent", attempts),
            _graph("From the first failure to success", retried),
            _graph("Open breakers", breakers),
            _graph("Errors of the functions", errors),
            _graph("The sweep, in milliseconds", sweeps),
        ]

    def _cost(self) -> list[cloudwatch.IWidget]:
        models = [
            (lane, target.model)
            for target in self._parts.config.targets.values()
            for lane in self._lanes()
        ]

        def by_model(metric: str) -> list[cloudwatch.IMetric]:
            return [self._own(metric, f"{m} {lane}", lane=lane, model=m) for lane, m in models]

        budgets = [
            self._own("BudgetUsedPercent", name, "Maximum", service="sweep", target=name)
            for name, target in self._parts.config.targets.items()
            if target.budget and target.budget.limits_target
        ]
        requests = [
            self._own("ProviderRequests", "requests"),
            self._own("ProviderThrottled", "throttled"),
        ]
        proof = [
            self._own("OldestVerifiedSeconds", "oldest, in seconds", "Maximum", service="backfill"),
            self._own("Drifted", "drifted", service="backfill"),
        ]
        return [
            _graph("Tokens, by model and lane", by_model("TokensPaid")),
            _graph("Dollars, by model and lane", by_model("DollarsPaid")),
            *([_graph("Budgets used, in percent", budgets)] if budgets else []),
            _graph("Reused chunks, in percent", [self._ratio(RATIOS["Reused chunks"], "reused")]),
            _graph("Requests to the provider", requests),
            _graph("Compared with the tables", proof),
        ]

    def _lanes(self) -> list[str]:
        found = (one for lanes in self._parts.stores.lanes.values() for one in lanes.lane_of)
        return list(dict.fromkeys(str(name).partition("-")[0] for name in found))

    def _lanes_and_sources(self) -> list[tuple[str, str]]:
        return [(lane, source) for lane in self._lanes() for source in self._parts.streams]

    def _own(
        self,
        name: str,
        label: str,
        statistic: str = "Sum",
        *,
        service: str = "embed",
        **dimensions: str,
    ) -> cloudwatch.Metric:
        metric = own_metric(
            name, service=service, stage=self._stage, statistic=statistic, dimensions=dimensions
        )
        return metric.with_(label=label)

    def _gauge(self, name: str, label: str, **dimensions: str) -> cloudwatch.Metric:
        """Return what the sweep counts every 15 minutes."""
        found = self._own(name, label, "Maximum", service="sweep", **dimensions)
        return found.with_(period=HALF_AN_HOUR)

    def _ratio(self, ratio: Ratio, label: str) -> cloudwatch.MathExpression:
        return cloudwatch.MathExpression(
            expression=ratio.expression,
            label=label,
            period=PERIOD,
            using_metrics={variable(one): self._own(one, one) for one in ratio.metrics},
        )


def _graph(
    title: str, metrics: Sequence[cloudwatch.IMetric], *, lines: Sequence[float] = ()
) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title,
        left=metrics,
        left_annotations=[cloudwatch.HorizontalAnnotation(value=line) for line in lines],
        left_y_axis=cloudwatch.YAxisProps(min=0),
        width=COLUMNS // 4,
        height=HEIGHT,
    )
