"""CloudWatch's answers about metrics and alarms, from what is measured on this machine."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from starlette.responses import Response

from local.aws_client import local_arn
from local.endpoint.messages import Request
from local.endpoint.protocols import AwsError, json_answer, parameters
from local.watch.alarms import Alarm, metric_of
from local.watch.evaluator import Evaluator, Standing
from local.watch.store import MINUTE_MS, MetricId, MetricStore, UnknownStatisticError, Window

KNOWN = "describe-alarms, list-metrics, get-metric-data and get-metric-statistics"
# A day, by the minute.
MOST_PERIODS = 1440


class Watched(Protocol):
    """What is measured, and the alarms over it."""

    store: MetricStore
    evaluator: Evaluator


class MetricsApi:
    """Answers what reads; nothing here can be written."""

    watch: Watched | None = None

    def answer(self, request: Request) -> Response:
        """Answer a call that reads; refuse all others."""
        given = parameters(request)
        if self.watch is None:
            raise AwsError("NotRunHere", "no stack runs yet whose metrics could be read")
        if not request.is_json:
            raise AwsError("NotRunHere", "metrics are read here in JSON only: by a newer client")
        match request.action:
            case "DescribeAlarms":
                return json_answer(200, self._alarms(given))
            case "ListMetrics":
                return json_answer(200, {"Metrics": self._metrics(given)})
            case "GetMetricData":
                return json_answer(200, {"MetricDataResults": self._data(given), "Messages": []})
            case "GetMetricStatistics":
                return json_answer(200, self._statistics(given))
        raise AwsError("NotRunHere", f"on one machine CloudWatch answers {KNOWN} only")

    def _alarms(self, given: Mapping[str, Any]) -> dict[str, Any]:
        assert self.watch is not None
        found = [
            one
            for name, one in sorted(self.watch.evaluator.standings().items())
            if name in (given.get("AlarmNames") or [name])
            and name.startswith(given.get("AlarmNamePrefix", ""))
            and one.state == given.get("StateValue", one.state)
        ]
        return {
            "MetricAlarms": [_alarm(one) for one in found if isinstance(one.alarm, Alarm)],
            "CompositeAlarms": [
                _state(one) | {"AlarmRule": one.alarm.rule}
                for one in found
                if not isinstance(one.alarm, Alarm)
            ],
        }

    def _metrics(self, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        assert self.watch is not None
        wanted = {one["Name"]: one.get("Value") for one in given.get("Dimensions", ())}
        return [
            _metric(one)
            for one in sorted(self.watch.store.metrics(), key=str)
            if one.namespace == given.get("Namespace", one.namespace)
            and one.name == given.get("MetricName", one.name)
            and all(
                any(name == key and value in (None, held) for key, held in one.dimensions)
                for name, value in wanted.items()
            )
        ]

    def _data(self, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        if any("MetricStat" not in one for one in given["MetricDataQueries"]):
            raise AwsError("NotRunHere", "expressions are evaluated in alarms only on one machine")
        results = []
        for one in given["MetricDataQueries"]:
            stat = one["MetricStat"]
            points = self._points(stat["Metric"], stat["Stat"], int(stat["Period"]), given)
            # The newest first, as CloudWatch does unless it is told otherwise.
            newest = sorted(points, reverse=given.get("ScanBy") != "TimestampAscending")
            results.append(
                {
                    "Id": one["Id"],
                    "Label": one.get("Label", stat["Metric"]["MetricName"]),
                    "Timestamps": [at for at, _ in newest],
                    "Values": [value for _, value in newest],
                    "StatusCode": "Complete",
                }
            )
        return results

    def _statistics(self, given: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[float, dict[str, Any]] = {}
        plain, extended = given.get("Statistics") or (), given.get("ExtendedStatistics") or ()
        for statistic in (*plain, *extended):
            for at, value in self._points(given, statistic, int(given["Period"]), given):
                point = found.setdefault(at, {"Timestamp": at, "Unit": "None"})
                if statistic in plain:
                    point[statistic] = value
                else:
                    point.setdefault("ExtendedStatistics", {})[statistic] = value
        return {"Label": given["MetricName"], "Datapoints": list(found.values())}

    def _points(
        self, metric: Mapping[str, Any], statistic: str, period: int, given: Mapping[str, Any]
    ) -> Iterable[tuple[float, float]]:
        """Return the beginning of each period that has values, and their statistic."""
        assert self.watch is not None
        period_ms = period * 1000
        start_ms = _ms(given["StartTime"]) // MINUTE_MS * MINUTE_MS
        count = -(-(_ms(given["EndTime"]) - start_ms) // period_ms)
        if period % 60 or not 0 < count <= MOST_PERIODS:
            raise AwsError(
                "InvalidParameterValue",
                f"{count} periods of {period} s: up to {MOST_PERIODS} of whole minutes are read",
            )
        window = Window(start_ms + count * period_ms, period, count)
        try:
            values = self.watch.store.statistics(metric_of(metric), statistic, window)
        except UnknownStatisticError as error:
            raise AwsError("InvalidParameterValue", f"{error} is no statistic here") from error
        times = (at_ms / 1000 for at_ms in window.starts_ms())
        return [(at, one) for at, one in zip(times, values, strict=True) if one is not None]


def _alarm(one: Standing) -> dict[str, Any]:
    assert isinstance(one.alarm, Alarm)
    [returned] = [query for query in one.alarm.queries if query.is_returned]
    return _state(one) | {
        "ComparisonOperator": one.alarm.comparison,
        "Threshold": one.alarm.threshold,
        "EvaluationPeriods": one.alarm.periods,
        "DatapointsToAlarm": one.alarm.bad_periods,
        "TreatMissingData": str(one.alarm.missing),
        "Period": returned.period_seconds,
    }


def _state(one: Standing) -> dict[str, Any]:
    return {
        "AlarmName": one.alarm.name,
        "AlarmArn": local_arn("cloudwatch", f"alarm:{one.alarm.name}"),
        "AlarmDescription": one.alarm.description,
        # Nobody is told here.
        "ActionsEnabled": False,
        "AlarmActions": list(one.alarm.actions),
        "StateValue": str(one.state),
        "StateReason": one.reason,
        "StateUpdatedTimestamp": one.since_ms / 1000,
        "StateTransitionedTimestamp": one.since_ms / 1000,
    }


def _metric(one: MetricId) -> dict[str, Any]:
    dimensions = [{"Name": name, "Value": value} for name, value in sorted(one.dimensions)]
    return {"Namespace": one.namespace, "MetricName": one.name, "Dimensions": dimensions}


def _ms(at: Any) -> int:
    """Read a time: seconds, or a date."""
    if isinstance(at, str):
        at = datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()
    return int(float(at) * 1000)
