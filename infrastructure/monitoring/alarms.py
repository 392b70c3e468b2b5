"""Alarms: each says what it means and what to do, and writes to the topic that fits."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from constructs import Construct

from infrastructure.lanes import Lanes
from infrastructure.monitoring.topics import AlarmTopics
from infrastructure.names import pascal
from infrastructure.parts import Parts
from infrastructure.python_function import PythonFunction

PERIOD = Duration.minutes(5)
HALF_AN_HOUR = 6  # periods
# The stream keeps a record for 24 hours.
ITERATOR_AGE_MINUTES = 15


class Alarms(Construct):
    """Watch the queues, the streams and the functions of one stage."""

    def __init__(self, scope: Construct, id_: str, *, topics: AlarmTopics) -> None:
        super().__init__(scope, id_)
        self.topics = topics

    def watch(self, parts: Parts) -> None:
        """Watch every lane, stream and function of a stage."""
        for target, lanes in parts.stores.lanes.items():
            self._watch_lanes(target, lanes)
        self._watch_streams(parts)
        for name, function in parts.functions.items():
            self._watch_function(name, function)

    def _watch_lanes(self, target: str, lanes: Lanes) -> None:
        """Watch each lane's oldest task, and that the DLQs stay empty."""
        for fifo, queue in lanes.dead_letters.items():
            kind = "fifo" if fifo else "standard"
            self.add(
                pascal(target, "dead-letters", kind),
                metric=queue.metric_approximate_number_of_messages_visible(
                    period=PERIOD, statistic="Maximum"
                ),
                above=0,
                topic=self.topics.critical,
                description=f"Target {target}: tasks are in the {kind} DLQ. Their documents are"
                " not up to date in the index, and no retry is left. Read the reason in the"
                " ledger or the embed log, fix it, then redrive the DLQ to its source within 14"
                " days.",
            )
        for name, queue in lanes.queues.items():
            minutes = lanes.lane_of[name].traits.alarm_minutes
            self.add(
                pascal(target, name, "oldest-task"),
                metric=queue.metric_approximate_age_of_oldest_message(
                    period=PERIOD, statistic="Maximum"
                ),
                above=minutes * 60,
                periods=2,
                topic=self.topics.warning,
                description=f"Target {target}, lane {name}: a task waits for more than {minutes}"
                " minutes. Search shows old text for its document. Look for throttling or errors"
                " of the provider or the index in the embed log; if there are none, raise the"
                " lane's concurrency in cdk.json.",
            )

    def _watch_streams(self, parts: Parts) -> None:
        """Watch that changes are taken in time, and that none ends in the bucket."""
        sources = ", ".join(parts.streams)
        self.add(
            "IteratorAge",
            # Lambda reports the age by function: this is the slowest of its sources.
            metric=parts.enqueue.function.metric(
                "IteratorAge", period=PERIOD, statistic="Maximum", unit=cloudwatch.Unit.MILLISECONDS
            ),
            above=ITERATOR_AGE_MINUTES * 60 * 1000,
            topic=self.topics.critical,
            description=f"Sources {sources}: enqueue is more than {ITERATOR_AGE_MINUTES} minutes"
            " behind a stream, which keeps records for 24 hours only. Look for errors in the"
            " enqueue log; if there are none, raise the source's stream.parallelization in"
            " cdk.json.",
        )
        for source, mapping in parts.streams.items():
            self.add(
                pascal(source, "changes-set-aside"),
                metric=_mapping_metric(mapping, "OnFailureDestinationDeliveredEventCount"),
                above=0,
                topic=self.topics.critical,
                description=f"Source {source}: changes ran out of retries and lie in the failed"
                " changes bucket. Their documents are not in the queue. Fix the cause shown in"
                " the enqueue log: the sweep replays the bucket every 15 minutes. What stays there"
                " has its reason in the sweep log.",
            )

    def _watch_function(self, name: str, function: PythonFunction) -> None:
        """Watch a function's errors and throttles; no other does the work of a ticked one."""
        effect, is_ticked = function.spec.effect, bool(function.spec.ticks)
        self.add(
            pascal(name, "errors"),
            metric=function.function.metric_errors(period=PERIOD, statistic="Sum"),
            above=0,
            # One bad run of a ticked function is made up for by the next one: the alarm is for two
            # within half an hour, in which a tick of each 15 minutes can fail twice.
            periods=HALF_AN_HOUR if is_ticked else 1,
            bad_periods=2 if is_ticked else 1,
            topic=self.topics.critical if is_ticked else self.topics.warning,
            description=f"Function {name}: calls ended in an error, a timeout or out of memory."
            f" {effect} Find the error in the function's log; a timeout or memory is raised in"
            " cdk.json.",
        )
        self.add(
            pascal(name, "throttles"),
            metric=function.function.metric_throttles(period=PERIOD, statistic="Sum"),
            above=0,
            # A long run of a ticked function makes the next tick skip: that is no trouble yet.
            periods=HALF_AN_HOUR if is_ticked else 1,
            topic=self.topics.warning,
            description=f"Function {name}: Lambda refused calls for lack of concurrency. {effect}"
            " Compare the account's concurrency limit and the reserves of other functions with"
            " the concurrency in cdk.json.",
        )

    def add(
        self,
        id_: str,
        *,
        metric: cloudwatch.IMetric,
        above: float,
        topic: sns.ITopic,
        description: str,
        periods: int = 1,
        bad_periods: int | None = None,
    ) -> None:
        """Add one alarm, which writes to a topic when it begins and when it ends."""
        alarm = cloudwatch.Alarm(
            self,
            id_,
            alarm_description=description,
            metric=metric,
            threshold=above,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=periods,
            datapoints_to_alarm=bad_periods or periods,
            # Idle queues and functions report nothing: no data means nothing is wrong.
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(topic))
        alarm.add_ok_action(actions.SnsAction(topic))


def _mapping_metric(mapping: lambda_.CfnEventSourceMapping, name: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace="AWS/Lambda",
        metric_name=name,
        dimensions_map={"EventSourceMappingUUID": mapping.ref},
        period=PERIOD,
        statistic="Sum",
    )
