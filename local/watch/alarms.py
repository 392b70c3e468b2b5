"""The alarms of a template: read from their CloudFormation properties, evaluated over a store."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.watch.expressions import Series, evaluate
from local.watch.rules import COMPARISONS, LOOKED_BACK, Missing, State, judge
from local.watch.store import MINUTE_MS, MetricId, MetricStore, Window

ALARM = "AWS::CloudWatch::Alarm"
COMPOSITE = "AWS::CloudWatch::CompositeAlarm"
# By its name, or by its ARN, which ends with it.
_NAMED_STATE = re.compile(r'(ALARM|OK|INSUFFICIENT_DATA)\("?(?:[^")]*:)?([^":)]+)"?\)')


@dataclass(frozen=True)
class Query:
    """A metric of an alarm, or an expression over others."""

    id: str
    period_seconds: int
    metric: MetricId | None = None
    statistic: str = "Sum"
    expression: str = ""
    is_returned: bool = True


@dataclass(frozen=True)
class Alarm:
    """An alarm on a number."""

    name: str
    description: str
    actions: tuple[str, ...]
    queries: tuple[Query, ...]
    comparison: str
    threshold: float
    periods: int
    bad_periods: int
    missing: Missing

    @property
    def metrics(self) -> list[MetricId]:
        return [query.metric for query in self.queries if query.metric is not None]

    def values(self, store: MetricStore, now_ms: int) -> Series:
        """Return the number in each period that is looked at, the oldest first."""
        count = self.periods + LOOKED_BACK
        series: dict[str, Series] = {}
        [returned] = [query for query in self.queries if query.is_returned]
        # At the end of each minute CloudWatch evaluates the periods that end there.
        end_ms = now_ms - now_ms % MINUTE_MS
        window = Window(end_ms, returned.period_seconds, count)
        for query in self.queries:
            if query.metric is not None:
                series[query.id] = store.statistics(query.metric, query.statistic, window)
        for query in self.queries:
            if query.expression:
                series[query.id] = evaluate(query.expression, series, count)
        return series[returned.id]

    def judge(self, values: Series, now: State) -> State:
        """Return the state that follows from the numbers."""
        compare = COMPARISONS[self.comparison]
        return judge(
            [None if value is None else compare(value, self.threshold) for value in values],
            periods=self.periods,
            bad_periods=self.bad_periods,
            missing=self.missing,
            now=now,
        )


@dataclass(frozen=True)
class Composite:
    """An alarm on the states of others: ALARM(a) OR ALARM(b)."""

    name: str
    description: str
    actions: tuple[str, ...]
    rule: str

    @property
    def alarms(self) -> list[str]:
        return [name for _, name in _NAMED_STATE.findall(self.rule)]

    def judge(self, states: Mapping[str, State]) -> State:
        """Return the state that follows from those of the others."""

        def answer(found: re.Match[str]) -> str:
            return "1" if states.get(found[2], State.INSUFFICIENT_DATA) == found[1] else "0"

        rule = re.sub(r"\bNOT\b", "0 ==", _NAMED_STATE.sub(answer, self.rule))
        rule = rule.replace("TRUE", "1").replace("FALSE", "0")
        return State.ALARM if evaluate(rule, {}, 1) == [1.0] else State.OK


def read_alarms(resources: Mapping[str, Mapping[str, Any]]) -> list[Alarm | Composite]:
    """Read the alarms of a template whose references are resolved.

    An alarm without a name of its own goes by the key of its resource.
    """
    found: list[Alarm | Composite] = []
    for id_, resource in resources.items():
        if resource["Type"] == ALARM:
            found.append(_alarm(id_, resource["Properties"]))
        if resource["Type"] == COMPOSITE:
            found.append(_composite(id_, resource["Properties"]))
    # A composite is judged after those that it names.
    return sorted(found, key=lambda one: isinstance(one, Composite))


def _alarm(id_: str, given: Mapping[str, Any]) -> Alarm:
    queries = given.get("Metrics") or [{"Id": "m", "MetricStat": _stat(given)}]
    periods = int(given["EvaluationPeriods"])
    return Alarm(
        name=str(given.get("AlarmName", id_)),
        description=str(given.get("AlarmDescription", "")),
        actions=tuple(map(str, given.get("AlarmActions", ()))),
        queries=_queries(queries),
        comparison=str(given["ComparisonOperator"]),
        threshold=float(given["Threshold"]),
        periods=periods,
        bad_periods=int(given.get("DatapointsToAlarm", periods)),
        missing=Missing(given.get("TreatMissingData", "missing")),
    )


def _composite(id_: str, given: Mapping[str, Any]) -> Composite:
    return Composite(
        name=str(given.get("AlarmName", id_)),
        description=str(given.get("AlarmDescription", "")),
        actions=tuple(map(str, given.get("AlarmActions", ()))),
        rule=str(given["AlarmRule"]),
    )


def _stat(given: Mapping[str, Any]) -> dict[str, Any]:
    metric = {key: given[key] for key in ("Namespace", "MetricName", "Dimensions") if key in given}
    statistic = given.get("Statistic") or given["ExtendedStatistic"]
    return {"Metric": metric, "Period": given["Period"], "Stat": statistic}


def _queries(given: Sequence[Mapping[str, Any]]) -> tuple[Query, ...]:
    periods = [int(one["MetricStat"]["Period"]) for one in given if "MetricStat" in one]
    queries = []
    for one in given:
        is_returned = bool(one.get("ReturnData", True))
        if "Expression" in one:
            period = int(one.get("Period", max(periods)))
            text = str(one["Expression"])
            query = Query(str(one["Id"]), period, expression=text, is_returned=is_returned)
        else:
            stat = one["MetricStat"]
            query = Query(
                str(one["Id"]),
                int(stat["Period"]),
                metric=metric_of(stat["Metric"]),
                statistic=str(stat["Stat"]),
                is_returned=is_returned,
            )
        queries.append(query)
    return tuple(queries)


def metric_of(given: Mapping[str, Any]) -> MetricId:
    """Read which metric is meant."""
    dimensions = {str(one["Name"]): str(one["Value"]) for one in given.get("Dimensions", ())}
    return MetricId.of(str(given["Namespace"]), str(given["MetricName"]), **dimensions)
