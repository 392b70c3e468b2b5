"""Alarms: whom they reach, what they say."""

from typing import Any

from tests.infrastructure.synthesized import Synthesized, as_list

# The stage `private` has switched the proof off.
WITHOUT_PROOF = "private"


def alarms(synthesized: Synthesized, metric: str) -> list[dict[str, Any]]:
    """Return the alarms on a metric."""
    found = synthesized.properties("AWS::CloudWatch::Alarm")
    return [alarm for alarm in found if alarm.get("MetricName") == metric]


def metrics_of(alarm: dict[str, Any]) -> list[str]:
    """Name the metrics that an alarm looks at."""
    if "MetricName" in alarm:
        return [alarm["MetricName"]]
    return [m["MetricStat"]["Metric"]["MetricName"] for m in alarm["Metrics"] if "MetricStat" in m]


def dimension(alarm: dict[str, Any]) -> str:
    """Return what an alarm watches."""
    value: str = alarm["Dimensions"][0]["Value"]
    return value


def test_every_queue_is_watched(synthesized: Synthesized) -> None:
    """R61: DLQs that are not empty, and the oldest task of each lane."""
    dead = {dimension(a) for a in alarms(synthesized, "ApproximateNumberOfMessagesVisible")}
    aged = {dimension(a) for a in alarms(synthesized, "ApproximateAgeOfOldestMessage")}
    # Errands are looked after by the function itself, which reads them: R43.
    queues = synthesized.resources("AWS::SQS::Queue")
    names = {name for name in queues if not name.startswith("Errands")}

    assert {name.removesuffix(".QueueName") for name in dead | aged} == names
    assert all("DeadLetters" in name for name in dead)
    assert not any("DeadLetters" in name for name in aged)


def test_oldest_task_of_each_lane_may_wait_its_own_time(synthesized: Synthesized) -> None:
    """R61: minutes for what a user waits for, hours for bulk; for two periods of five minutes."""
    minutes = {"High": 5, "Normal": 15, "Bulk": 6 * 60, "Delete": 15, "Sequential": 30}

    for alarm in alarms(synthesized, "ApproximateAgeOfOldestMessage"):
        [limit] = [minutes[lane] for lane in minutes if lane in dimension(alarm)]
        assert alarm["Threshold"] == limit * 60
        assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
        assert (alarm["Period"], alarm["EvaluationPeriods"]) == (300, 2)


def test_every_function_and_stream_is_watched(synthesized: Synthesized) -> None:
    """R61: errors and throttles of each function, age and failures of each stream."""
    functions = set(synthesized.resources("AWS::Lambda::Function"))
    (enqueue,) = synthesized.functions("enqueue")
    set_aside = alarms(synthesized, "OnFailureDestinationDeliveredEventCount")

    assert {dimension(alarm) for alarm in alarms(synthesized, "Errors")} == functions
    assert {dimension(alarm) for alarm in alarms(synthesized, "Throttles")} == functions
    assert [dimension(alarm) for alarm in alarms(synthesized, "IteratorAge")] == [enqueue]
    assert len(set_aside) == len(synthesized.mappings(enqueue))


def test_each_alarm_says_what_it_means_and_what_to_do(synthesized: Synthesized) -> None:
    """R61: at least what happened, its effect and a next step; silence is not alarming."""
    for alarm in synthesized.properties("AWS::CloudWatch::Alarm"):
        assert alarm["AlarmDescription"].count(".") >= 3
        assert len(alarm["AlarmDescription"]) <= 1024
        assert alarm["TreatMissingData"] == "notBreaching"
        assert len(alarm["AlarmActions"]) == 1


def test_only_what_may_lose_a_document_is_critical(synthesized: Synthesized) -> None:
    """R61: dead letters, lost changes, documents given up, and what stops or heals the lanes."""

    def proof(metric: str) -> list[str]:
        return [] if synthesized.stage == WITHOUT_PROOF else [metric]

    by_topic = {
        topic: {
            metric
            for alarm in synthesized.properties("AWS::CloudWatch::Alarm")
            if alarm["AlarmActions"][0].startswith(f"Topics{topic}")
            for metric in metrics_of(alarm)
        }
        for topic in ("Critical", "Warning")
    }

    assert by_topic == {
        "Critical": {
            "ApproximateNumberOfMessagesVisible",
            "BreakerOpen",
            "BudgetUsedPercent",
            *proof("Drifted"),
            "Errors",
            "IteratorAge",
            "JobsFailed",
            "LostIndexes",
            "OnFailureDestinationDeliveredEventCount",
            "TasksExhausted",
            "TasksGivenUp",
        },
        "Warning": {
            "ApproximateAgeOfOldestMessage",
            "BudgetUsedPercent",
            "ControlUnreadable",
            "Errors",
            "FreshnessMilliseconds",
            *proof("OldestVerifiedSeconds"),
            "StuckDocuments",
            "TasksCompleted",
            "TasksFailed",
            "Throttles",
        },
    }


def test_functions_with_ticks_alone_are_critical_when_they_fail(synthesized: Synthesized) -> None:
    """R61: no other function does their work; one bad run is made up for by the next."""
    critical = {
        dimension(alarm): (alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"])
        for alarm in alarms(synthesized, "Errors")
        if alarm["AlarmActions"][0].startswith("TopicsCritical")
    }
    (sweep,) = synthesized.functions("sweep")
    (breaker,) = synthesized.functions("breaker")
    (backfill,) = synthesized.functions("backfill")

    assert critical == {sweep: (6, 2), breaker: (6, 2), backfill: (6, 2)}


def test_a_tick_that_is_skipped_is_no_alarm(synthesized: Synthesized) -> None:
    """R61: sweep and breaker refuse a tick while a long run does its work."""
    patient = {
        dimension(alarm)
        for alarm in alarms(synthesized, "Throttles")
        if alarm["DatapointsToAlarm"] == 6
    }

    ticked = ("sweep", "breaker", "backfill")
    assert patient == {name for folder in ticked for name in synthesized.functions(folder)}


def test_two_topics_tell_the_people_named_in_cdk_json(synthesize: Any) -> None:
    """R61: warning and critical, each with its own addresses."""
    subscriptions = synthesize("example").properties("AWS::SNS::Subscription")
    subscribed = sorted((s["TopicArn"][:9], s["Endpoint"]) for s in subscriptions)

    assert subscribed == [
        ("TopicsCri", "on-call@example.com"),
        ("TopicsCri", "team@example.com"),
        ("TopicsWar", "team@example.com"),
    ]


def test_alarms_may_publish_to_encrypted_topics(synthesized: Synthesized) -> None:
    """R84: a topic policy replaces the default one, and the default key shuts CloudWatch out."""
    (key,) = synthesized.properties("AWS::KMS::Key")
    documents = [p["PolicyDocument"] for p in synthesized.properties("AWS::SNS::TopicPolicy")]
    granted = {
        action
        for document in [*documents, key["KeyPolicy"]]
        for statement in document["Statement"]
        if statement["Effect"] == "Allow"
        and statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
        for action in as_list(statement["Action"])
    }

    assert granted == {"sns:Publish", "kms:Decrypt", "kms:GenerateDataKey*"}
    assert all("KmsMasterKeyId" in topic for topic in synthesized.properties("AWS::SNS::Topic"))
