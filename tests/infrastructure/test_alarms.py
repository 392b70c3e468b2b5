"""Alarms: whom they reach, what they say."""

from pathlib import Path
from typing import Any

from benchmarks.alarms.stage import STAGES, read_template
from benchmarks.alarms.world import STAGE
from infrastructure.monitoring.watches import Missing
from local.watch.alarms import Alarm
from scripts.scan import synthesize as synth
from tests.infrastructure.synthesized import ROOT, Synthesized, as_list

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
    """R61: at least what happened, its effect, a next step, and a page of the runbook."""
    kinds = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
    for alarm in [one for kind in kinds for one in synthesized.properties(kind)]:
        text, _, page = alarm["AlarmDescription"].partition(" Runbook: ")
        assert text.count(".") >= 3
        assert len(alarm["AlarmDescription"]) <= 1024
        assert (ROOT / page).is_file()
        assert len(alarm["AlarmActions"]) == 1


def test_every_page_of_the_runbook_belongs_to_an_alarm(synthesize: Any) -> None:
    """R61: and says what it means, what to look at and what to do."""
    pages = {path.stem for path in (ROOT / "docs/operations").glob("*.md")}
    alarms = synthesize("dev").properties("AWS::CloudWatch::Alarm")
    alarms += synthesize("dev").properties("AWS::CloudWatch::CompositeAlarm")
    named = {alarm["AlarmDescription"].rpartition("/")[2].removesuffix(".md") for alarm in alarms}

    assert pages - {"README", "proven", "not-found"} == named
    for name in named:
        text = (ROOT / f"docs/operations/{name}.md").read_text()
        titles = ["## What it means", "## What to look at", "## What to do"]
        assert [line for line in text.splitlines() if line.startswith("## ")] == titles


def test_what_no_data_means_is_chosen_for_each_alarm(synthesize: Any) -> None:
    """R61: silence is an alarm for what runs by the clock, and nothing new for a domain."""
    alarms = synthesize("dev").properties("AWS::CloudWatch::Alarm")
    by_treatment: dict[str, set[str]] = {}
    for alarm in alarms:
        by_treatment.setdefault(alarm["TreatMissingData"], set()).update(metrics_of(alarm))

    assert by_treatment["breaching"] == {"Invocations", "StuckDocuments", "OldestVerifiedSeconds"}
    assert by_treatment["ignore"] == {
        "ClusterStatus.red",
        "FreeStorageSpace",
        "ClusterIndexWritesBlocked",
        "JVMMemoryPressure",
    }
    assert all(one.reason for one in Missing)


def test_thresholds_and_the_runbook_come_from_cdk_json(tmp_path: Path) -> None:
    """R61: each in `alarms` of a stage."""
    limits = {"stuck_documents": 7, "runbook": "https://wiki.example.com/embedq"}
    stages = {STAGE: {**STAGES[STAGE], "alarms": limits}}
    synth(tmp_path, {"stages": stages, "stage": STAGE})

    spec = read_template(tmp_path)

    [stuck] = [one for one in spec.alarms if one.name.endswith("-stuck-documents")]
    assert isinstance(stuck, Alarm)
    assert stuck.threshold == 7
    assert stuck.description.endswith(
        " Runbook: https://wiki.example.com/embedq/stuck-documents.md"
    )


def test_a_stage_that_is_switched_off_is_not_silent(tmp_path: Path) -> None:
    """R47: its schedules do not run, and nobody is called for it."""
    stages = {STAGE: {**STAGES[STAGE], "enabled": False}}
    synth(tmp_path, {"stages": stages, "stage": STAGE})

    assert [one.name for one in read_template(tmp_path).alarms if "silent" in one.name] == []


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
    domain = {"ClusterStatus.red", "ClusterIndexWritesBlocked"}
    room = {"FreeStorageSpace", "JVMMemoryPressure"}
    # The stage `example` is switched off.
    clock = set() if synthesized.stage == "example" else {"Invocations"}
    if not synthesized.resources("AWS::OpenSearchService::Domain"):
        domain = room = set()

    assert by_topic == {
        "Critical": {
            *domain,
            "ApproximateNumberOfMessagesVisible",
            "BreakerOpen",
            "BudgetUsedPercent",
            "FailedDocuments",
            *clock,
            "OldestFailedSeconds",
            "OldestStuckSeconds",
            "StuckDocuments",
            "TasksEnded",
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
            *room,
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
