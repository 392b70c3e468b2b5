"""Metrics and alarms of the real stack: written by its functions, its runner and its queues."""

import time

from local.provider.faults import Fault, FaultKind
from local.stack import LocalStack
from local.watch.rules import State
from local.watch.store import MINUTE_MS, MetricId, Window
from tests.stack.articles import Articles
from tests.waiting import until

POISON = "plugh"


def summed(stack: LocalStack, name: str, service: str) -> float:
    """Return a metric of ours, over the last hour."""
    [stage] = {
        value
        for metric in stack.watch.store.metrics()
        for key, value in metric.dimensions
        if key == "stage"
    } or {"none"}
    metric = MetricId.of("embedq", name, service=service, stage=stage)
    end_ms = (time.time_ns() // 1_000_000 // MINUTE_MS + 1) * MINUTE_MS
    return sum(filter(None, stack.watch.store.statistics(metric, "Sum", Window(end_ms, 3600, 1))))


def test_functions_queues_and_calls_are_measured(articles: Articles, stack: LocalStack) -> None:
    """R60 R82: a write is seen in the metrics of enqueue and embed, and of Lambda and SQS."""
    before = summed(stack, "TasksCompleted", "embed")
    articles.indexed(articles.new_name(), "A text that is measured.")

    until(lambda: summed(stack, "TasksCompleted", "embed") > before, "the metric of the task")
    stack.watch.look(time.time_ns() // 1_000_000)

    names = {(one.namespace, one.name) for one in stack.watch.store.metrics()}
    assert {
        ("embedq", "ChangesAccepted"),
        ("embedq", "FreshnessMilliseconds"),
        ("AWS/Lambda", "Invocations"),
        ("AWS/Lambda", "Errors"),
        ("AWS/Lambda", "IteratorAge"),
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible"),
        ("AWS/SQS", "ApproximateAgeOfOldestMessage"),
    } <= names


def test_dead_letter_is_an_alarm_until_it_is_redriven(
    articles: Articles, stack: LocalStack
) -> None:
    """R61: the template's own alarm, over the queue of the engine; the clock is moved."""
    articles.break_provider(Fault(FaultKind.POISON, marker=POISON))
    articles.put(articles.new_name("bad"), f"The provider refuses {POISON}.")
    until(lambda: articles.deployment.depth(articles.dead_letters)[0] == 1, "the dead letter")
    now_ms = time.time_ns() // 1_000_000

    def state(minutes: int) -> State:
        stack.watch.look(now_ms + minutes * MINUTE_MS)
        [standing] = [
            one
            for name, one in stack.watch.evaluator.standings().items()
            if "dead-letters-fifo" in name and "default" in name
        ]
        return standing.state

    for minute in range(2):
        raised = state(minute)
    articles.take_dead_letters(1)
    for minute in range(2, 9):
        ended = state(minute)

    assert (raised, ended) == (State.ALARM, State.OK)
