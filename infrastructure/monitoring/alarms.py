"""Alarms: each says what it means and names its page, and writes to the topic that fits."""

from collections.abc import Iterable

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from infrastructure.monitoring.topics import AlarmTopics
from infrastructure.monitoring.watches import Watch

DOWN_PAGE = "embedding-is-down"
_ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
_BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


class Alarms(Construct):
    """The alarms of one stage, made from its watches."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        topics: AlarmTopics,
        runbook: str,
        watches: Iterable[Watch],
    ) -> None:
        super().__init__(scope, id_)
        self._topics = topics
        self._runbook = runbook.rstrip("/")
        # By whether they are critical.
        self.made: dict[bool, list[cloudwatch.AlarmBase]] = {True: [], False: []}
        stopping = []
        for watch in watches:
            alarm = self._add(watch)
            if watch.stops_embedding:
                stopping.append(alarm)
        self.down = self._add_down(stopping)

    def _add(self, watch: Watch) -> cloudwatch.Alarm:
        """Add one alarm, which writes to a topic when it begins and when it ends."""
        limit = watch.above if watch.above is not None else watch.below
        alarm = cloudwatch.Alarm(
            self,
            watch.id,
            alarm_description=self._described(watch.description, watch.page),
            metric=watch.metric,
            threshold=limit or 0,
            comparison_operator=_BELOW if watch.above is None else _ABOVE,
            evaluation_periods=watch.periods,
            datapoints_to_alarm=watch.bad_periods or watch.periods,
            treat_missing_data=watch.missing.treatment,
        )
        topic = self._topics.critical if watch.is_critical else self._topics.warning
        self._tell(alarm, topic)
        self.made[watch.is_critical].append(alarm)
        return alarm

    def _add_down(self, alarms: list[cloudwatch.Alarm]) -> cloudwatch.CompositeAlarm:
        description = (
            "Embedding is down: documents are written and do not reach the index, whatever the"
            " cause. Search shows old text. Nothing is lost. The alarms that it is made of say"
            " why: `embedq health` and `embedq breakers` show the same."
        )
        alarm = cloudwatch.CompositeAlarm(
            self,
            "EmbeddingDown",
            alarm_description=self._described(description, DOWN_PAGE),
            alarm_rule=cloudwatch.AlarmRule.any_of(
                *(
                    cloudwatch.AlarmRule.from_alarm(one, cloudwatch.AlarmState.ALARM)
                    for one in alarms
                )
            ),
        )
        self._tell(alarm, self._topics.critical)
        return alarm

    def _described(self, description: str, page: str) -> str:
        return f"{description} Runbook: {self._runbook}/{page}.md"

    def _tell(self, alarm: cloudwatch.AlarmBase, topic: sns.ITopic) -> None:
        alarm.add_alarm_action(actions.SnsAction(topic))
        alarm.add_ok_action(actions.SnsAction(topic))
