"""What AWS measures of a stage: lanes, streams, functions, schedules and the domain."""

from collections.abc import Iterator

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_

from infrastructure.config.opensearch import DomainConfig
from infrastructure.lanes import Lanes
from infrastructure.monitoring.watches import HOUR, PERIOD, Missing, Watch, own_metric
from infrastructure.names import pascal, stack_name
from infrastructure.parts import Parts
from infrastructure.python_function import PythonFunction

HALF_AN_HOUR = 6  # periods
MINUTE = Duration.minutes(1)
# An alarm takes ten metrics; one of them is what came to an end.
MOST_LANES = 9
SILENT_MINUTES = 15


def watch_parts(parts: Parts) -> Iterator[Watch]:
    """Watch every lane, stream and function of a stage, and the domain that it made."""
    for target, lanes in parts.stores.lanes.items():
        yield from _lanes(parts, target, lanes)
        yield _progress(parts, target, lanes)
    yield from _streams(parts)
    for name, function in parts.functions.items():
        yield from _function(name, function)
    if parts.config.enabled:
        yield from _schedules(parts)
    if parts.config.opensearch.domain is not None:
        yield from _domain(parts, parts.config.opensearch.domain)


def _lanes(parts: Parts, target: str, lanes: Lanes) -> Iterator[Watch]:
    """Watch each lane's oldest task, and that the DLQs stay empty."""
    for fifo, queue in lanes.dead_letters.items():
        kind = "fifo" if fifo else "standard"
        yield Watch(
            pascal(target, "dead-letters", kind),
            page="dead-letters",
            metric=queue.metric_approximate_number_of_messages_visible(
                period=PERIOD, statistic="Maximum"
            ),
            above=0,
            is_critical=True,
            description=f"Target {target}: tasks are in the {kind} DLQ. Their documents are"
            " not up to date in the index, and no retry is left. Read the reason in the"
            " ledger or the embed log, fix it, then redrive the DLQ to its source within 14"
            " days.",
        )
    for name, queue in lanes.queues.items():
        minutes = parts.config.alarms.lane_minutes.of(lanes.lane_of[name])
        yield Watch(
            pascal(target, name, "oldest-task"),
            page="oldest-task",
            metric=queue.metric_approximate_age_of_oldest_message(
                period=PERIOD, statistic="Maximum"
            ),
            above=minutes * 60,
            periods=2,
            description=f"Target {target}, lane {name}: a task waits for more than {minutes}"
            " minutes. Search shows old text for its document. Look for throttling or errors"
            " of the provider or the index in the embed log; if there are none, raise the"
            " lane's concurrency in cdk.json.",
        )


def _progress(parts: Parts, target: str, lanes: Lanes) -> Watch:
    """Watch that something ends while something waits."""
    waiting = {
        f"waiting{number}": queue.metric_approximate_number_of_messages_visible(
            period=PERIOD, statistic="Minimum"
        )
        for number, queue in enumerate(list(lanes.queues.values())[:MOST_LANES])
    }
    ended = own_metric(
        "TasksEnded", service="embed", stage=parts.stage, dimensions={"target": target}
    )
    depth = " + ".join(f"FILL({name}, 0)" for name in waiting)
    return Watch(
        pascal(target, "no-progress"),
        page="no-progress",
        metric=cloudwatch.MathExpression(
            expression=f"IF({depth} > 0 AND FILL(ended, 0) == 0, 1, 0)",
            label="1 while tasks wait and none ends",
            period=PERIOD,
            using_metrics={**waiting, "ended": ended},
        ),
        above=0,
        periods=3,
        is_critical=True,
        stops_embedding=True,
        description=f"Target {target}: tasks have waited for 15 minutes, and not one document came"
        " to an end. Search shows old text. Look for an open breaker, a mapping that is disabled,"
        " or a provider that throttles every request.",
    )


def _streams(parts: Parts) -> Iterator[Watch]:
    """Watch that changes are taken in time, and that none ends in the bucket."""
    sources, minutes = ", ".join(parts.streams), parts.config.alarms.stream_minutes
    yield Watch(
        "IteratorAge",
        page="stream-age",
        # Lambda reports the age by function: this is the slowest of its sources.
        metric=parts.enqueue.function.metric(
            "IteratorAge", period=PERIOD, statistic="Maximum", unit=cloudwatch.Unit.MILLISECONDS
        ),
        above=minutes * 60 * 1000,
        is_critical=True,
        stops_embedding=True,
        description=f"Sources {sources}: enqueue is more than {minutes} minutes"
        " behind a stream, which keeps records for 24 hours only. Look for errors in the"
        " enqueue log; if there are none, raise the source's stream.parallelization in"
        " cdk.json.",
    )
    for source, mapping in parts.streams.items():
        yield Watch(
            pascal(source, "changes-set-aside"),
            page="changes-set-aside",
            metric=_mapping_metric(mapping, "OnFailureDestinationDeliveredEventCount"),
            above=0,
            is_critical=True,
            description=f"Source {source}: changes ran out of retries and lie in the failed"
            " changes bucket. Their documents are not in the queue. Fix the cause shown in"
            " the enqueue log: the sweep replays the bucket every 15 minutes. What stays there"
            " has its reason in the sweep log.",
        )


def _function(name: str, function: PythonFunction) -> Iterator[Watch]:
    """Watch a function's errors and throttles; no other does the work of a ticked one."""
    effect, is_ticked = function.spec.effect, bool(function.spec.ticks)
    yield Watch(
        pascal(name, "errors"),
        page="function-errors",
        metric=function.function.metric_errors(period=PERIOD, statistic="Sum"),
        above=0,
        # One bad run of a ticked function is made up for by the next one: the alarm is for two
        # within half an hour, in which a tick of each 15 minutes can fail twice.
        periods=HALF_AN_HOUR if is_ticked else 1,
        bad_periods=2 if is_ticked else 1,
        is_critical=is_ticked,
        description=f"Function {name}: calls ended in an error, a timeout or out of memory."
        f" {effect} Find the error in the function's log; a timeout or memory is raised in"
        " cdk.json.",
    )
    yield Watch(
        pascal(name, "throttles"),
        page="function-errors",
        metric=function.function.metric_throttles(period=PERIOD, statistic="Sum"),
        above=0,
        # A long run of a ticked function makes the next tick skip: that is no trouble yet.
        periods=HALF_AN_HOUR if is_ticked else 1,
        description=f"Function {name}: Lambda refused calls for lack of concurrency. {effect}"
        " Compare the account's concurrency limit and the reserves of other functions with"
        " the concurrency in cdk.json.",
    )


def _schedules(parts: Parts) -> Iterator[Watch]:
    """Watch that what runs by the clock still runs."""
    for name, function in (("sweep", parts.sweep), ("breaker", parts.breaker)):
        yield Watch(
            pascal(name, "silent"),
            page="schedule-is-silent",
            metric=function.function.metric_invocations(period=PERIOD, statistic="Sum"),
            below=1,
            periods=SILENT_MINUTES // 5,
            missing=Missing.SILENT,
            is_critical=True,
            description=f"Function {name} has not run for {SILENT_MINUTES} minutes, and should"
            f" each minute. {function.spec.effect} Look whether its rule in EventBridge is enabled"
            " and may call it. Right after the first deployment the alarm ends by itself.",
        )
    yield Watch(
        "CountsSilent",
        page="schedule-is-silent",
        metric=own_metric(
            "StuckDocuments",
            service="sweep",
            stage=parts.stage,
            statistic="SampleCount",
            period=Duration.minutes(30),
        ),
        below=1,
        periods=2,
        missing=Missing.SILENT,
        description="The sweep has not counted its documents for an hour, and should every 15"
        " minutes: the alarms on stuck and failed documents see nothing. Look for"
        " sweep_job_failed and census_cut_off in its log. Right after the first deployment the"
        " alarm ends by itself.",
    )
    if parts.config.verify.days:
        yield Watch(
            "ProofSilent",
            page="schedule-is-silent",
            metric=own_metric(
                "OldestVerifiedSeconds",
                service="backfill",
                stage=parts.stage,
                statistic="SampleCount",
                period=HOUR,
            ),
            below=1,
            periods=3,
            missing=Missing.SILENT,
            description="No table was compared with its index for three hours, and a part of it"
            " should be each hour. Documents that drift are not noticed. Look for errors in the"
            " backfill log and for the rule of the proof in EventBridge. Right after the first"
            " deployment the alarm ends by itself.",
        )


def _domain(parts: Parts, domain: DomainConfig) -> Iterator[Watch]:
    """Watch the domain as AWS recommends it.

    https://docs.aws.amazon.com/opensearch-service/latest/developerguide/cloudwatch-alarms.html
    """
    limits = parts.config.alarms

    def metric(name: str, statistic: str, period: Duration = MINUTE) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace="AWS/ES",
            metric_name=name,
            dimensions_map={
                "DomainName": stack_name(parts.stage),
                "ClientId": Stack.of(parts.stores.index).account,
            },
            period=period,
            statistic=statistic,
        )

    yield Watch(
        "DomainRed",
        page="domain",
        metric=metric("ClusterStatus.red", "Maximum"),
        above=0,
        periods=3,
        missing=Missing.KEPT,
        is_critical=True,
        stops_embedding=True,
        description="The domain is red: a part of an index is on no node. Its documents are not"
        " found, and writes to it fail and wait. Look at the nodes in the OpenSearch console, and"
        " restore a snapshot if no node comes back.",
    )
    free_mb = domain.volume_gb * 1024 * limits.free_storage_percent // 100
    yield Watch(
        "DomainStorage",
        page="domain",
        metric=metric("FreeStorageSpace", "Minimum", PERIOD),
        below=free_mb,
        missing=Missing.KEPT,
        description=f"A node of the domain has less than {limits.free_storage_percent} % of its"
        " volume free. When it is nearly full, OpenSearch blocks all writes. Raise volume_gb or"
        " instance_count in cdk.json and deploy: it is done in place.",
    )
    yield Watch(
        "DomainWritesBlocked",
        page="domain",
        metric=metric("ClusterIndexWritesBlocked", "Maximum", PERIOD),
        above=0,
        missing=Missing.KEPT,
        is_critical=True,
        stops_embedding=True,
        description="The domain blocks writes, for lack of storage or of memory. Documents wait,"
        " and search shows old text. Raise volume_gb or the instance_type in cdk.json and deploy.",
    )
    yield Watch(
        "DomainMemory",
        page="domain",
        metric=metric("JVMMemoryPressure", "Maximum"),
        above=limits.memory_percent - 1,
        periods=3,
        missing=Missing.KEPT,
        description=f"OpenSearch has used {limits.memory_percent} % of its memory for three"
        " minutes. It becomes slow, and then blocks writes. Take a larger instance_type, fewer"
        " dimensions, or compression.",
    )


def _mapping_metric(mapping: lambda_.CfnEventSourceMapping, name: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace="AWS/Lambda",
        metric_name=name,
        dimensions_map={"EventSourceMappingUUID": mapping.ref},
        period=PERIOD,
        statistic="Sum",
    )
