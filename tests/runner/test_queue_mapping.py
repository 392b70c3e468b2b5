"""The queue mapping on a real SQS engine and real function processes."""

from collections import Counter

import pytest

from local.runner.invocation import Invocation
from tests.runner.stage import Stage
from tests.waiting import until


def test_what_the_function_did_is_deleted(stage: Stage) -> None:
    """R82: messages reach the function in Lambda's shape and leave the queue after success."""
    url = stage.queue()
    ids = stage.send(url, *({"n": n} for n in range(12)))
    runner = stage.start(stage.function(), [stage.queue_mapping()])

    stage.wait_until_empty(url)

    records = [record for note in stage.notes() for record in note["records"]]
    assert sorted(record["messageId"] for record in records) == sorted(ids)
    assert set(records[0]) == {
        "messageId",
        "receiptHandle",
        "body",
        "attributes",
        "messageAttributes",
        "md5OfBody",
        "eventSource",
        "eventSourceARN",
        "awsRegion",
    }
    assert records[0]["eventSourceARN"] == f"arn:aws:sqs:us-east-1:000000000000:{stage.name}"
    assert records[0]["attributes"]["ApproximateReceiveCount"] == "1"
    assert {"SentTimestamp", "ApproximateFirstReceiveTimestamp"} <= set(records[0]["attributes"])
    counts = runner.statistics()["queue-mapping"]
    assert (counts.messages, counts.failures) == (12, 0)


@pytest.mark.parametrize(
    ("what", "visibility"),
    [
        ("report_once", 1),
        ("fail_once", 1),
        # These two need a new process, which may take a while to start.
        ("die_once", 3),
        ("sleep_once", 3),
    ],
)
def test_what_failed_comes_again_after_its_visibility(
    stage: Stage, what: str, visibility: int
) -> None:
    """R82: a reported message alone, or a batch whose run failed, crashed or was ended by time.

    Nothing else is deleted, and nothing is lost.
    """
    url = stage.queue(visibility_seconds=visibility)
    stage.send(url, {"do": what, "seconds": 30, "n": 0}, {"n": 1}, {"n": 2})
    runner = stage.start_warm(stage.function(timeout_seconds=1), stage.queue_mapping())

    stage.wait_until_empty(url)

    worked = [order["n"] for bodies in stage.bodies() for order in bodies]
    assert set(worked) == {0, 1, 2}
    counts = runner.statistics()["queue-mapping"]
    alone = what == "report_once"
    assert (counts.failures, counts.errors) == ((1, 0) if alone else (3, 1))
    again = stage.notes()[-1]["records"]
    assert {record["attributes"]["ApproximateReceiveCount"] for record in again} == {"2"}


def test_a_throttle_burns_a_receive(stage: Stage) -> None:
    """R08: what the reserved concurrency refuses has been received, and comes back counted."""
    url = stage.queue(visibility_seconds=2)
    function = stage.function(reserved=1)
    mapping = stage.queue_mapping(batch_size=1)
    stage.send(url, {"do": "sleep_once", "seconds": 1.0, "n": 0}, {"n": 1})
    runner = stage.start_warm(function, mapping)

    stage.wait_until_empty(url)

    assert runner.statistics()["queue-mapping"].throttles >= 1
    counts = {
        record["attributes"]["ApproximateReceiveCount"]
        for note in stage.notes()
        for record in note["records"]
    }
    assert counts == {"1", "2"}


def test_maximum_concurrency_is_kept_and_used(stage: Stage) -> None:
    """R08: never more batches at a time than the mapping allows, and no fewer."""
    url = stage.queue()
    stage.send(url, *({"do": "sleep", "seconds": 0.2, "n": n} for n in range(9)))
    stage.start(stage.function(), [stage.queue_mapping(batch_size=1, max_concurrency=3)])

    stage.wait_until_empty(url)

    notes = stage.notes()
    at_once = [
        sum(other["began"] <= note["began"] < other["ended"] for other in notes) for note in notes
    ]
    assert max(at_once) == 3
    assert len({note["pid"] for note in notes}) == 3


def test_a_large_batch_is_collected_from_several_receives(stage: Stage) -> None:
    """R82: ten messages a receive, one run; a full batch does not wait for its window."""
    url = stage.queue()
    stage.send(url, *({"n": n} for n in range(25)))
    stage.start(stage.function(), [stage.queue_mapping(batch_size=25, window_seconds=60)])

    stage.wait_until_empty(url)

    assert [len(bodies) for bodies in stage.bodies()] == [25]


def test_the_window_ends_a_batch_that_is_not_full(stage: Stage) -> None:
    """R82: what came within the window is worked together."""
    url = stage.queue()
    stage.send(url, {"n": 0}, {"n": 1}, {"n": 2})
    stage.start(stage.function(), [stage.queue_mapping(batch_size=25, window_seconds=1)])

    stage.wait_until_empty(url)

    assert [len(bodies) for bodies in stage.bodies()] == [3]


def test_a_batch_holds_a_group_in_order(stage: Stage) -> None:
    """R04: within one run the messages of a group stand as they were sent, groups mixed."""
    url = stage.queue(fifo=True)
    stage.send(url, *({"group": "ab"[n % 2], "n": n} for n in range(10)))
    stage.start(stage.function(), [stage.queue_mapping(fifo=True)])

    stage.wait_until_empty(url)

    for group in ("a", "b"):
        of_group = [
            order["n"] for run in stage.bodies() for order in run if order["group"] == group
        ]
        assert of_group == sorted(of_group)
        assert len(of_group) == 5


def test_a_group_stays_in_order_through_failures(stage: Stage) -> None:
    """R04: a group's messages are never worked at once or out of order; groups run side by side."""
    url = stage.queue(fifo=True, visibility_seconds=1)
    orders = [
        {"group": group, "n": n, "do": "report_once" if n == 2 else "sleep", "seconds": 0.02}
        for n in range(6)
        for group in ("a", "b", "c")
    ]
    stage.send(url, *orders)
    stage.start_warm(stage.function(), stage.queue_mapping(fifo=True, batch_size=1))

    stage.wait_until_empty(url)

    for group in ("a", "b", "c"):
        of_group = [n for bodies in stage.bodies() for n in bodies if n["group"] == group]
        assert [order["n"] for order in of_group] == [0, 1, 2, 2, 3, 4, 5]


def test_a_switched_off_mapping_rests_also_after_a_restart(stage: Stage) -> None:
    """R25: disabled, it comes to rest and receives nothing; the state outlives the runner."""
    url = stage.queue()
    runner = stage.start(stage.function(), [stage.queue_mapping()])

    runner.set_enabled("queue-mapping", False)
    assert runner.state("queue-mapping") == "Disabling"
    until(lambda: runner.state("queue-mapping") == "Disabled", "the mapping is disabled")
    runner.stop()
    runner = stage.start(stage.function(), [stage.queue_mapping()])
    stage.send(url, {"n": 1})

    assert runner.state("queue-mapping") == "Disabled"
    assert stage.left(url) == 1
    runner.set_enabled("queue-mapping", True)
    stage.wait_until_empty(url)
    assert runner.state("queue-mapping") == "Enabled"
    [note] = stage.notes()
    assert note["records"][0]["attributes"]["ApproximateReceiveCount"] == "1"


def test_a_killed_process_ends_its_batch_as_a_crash(stage: Stage) -> None:
    """R82: a test kills a process in the middle of its work; the batch comes again."""
    url = stage.queue(visibility_seconds=4)
    stage.send(url, {"do": "sleep_once", "seconds": 60, "n": 0})
    runner = stage.start(stage.function(timeout_seconds=60), [stage.queue_mapping()])
    until(lambda: runner.pids("sample") != [], "the function runs")

    assert runner.kill_one("sample")

    stage.wait_until_empty(url)
    assert runner.statistics()["queue-mapping"].errors == 1
    assert Counter(order["n"] for bodies in stage.bodies() for order in bodies) == {0: 1}


def test_stop_hands_back_what_runs(stage: Stage) -> None:
    """R82: stopping waits for a while, then kills; nothing that was not done is deleted."""
    url = stage.queue()
    stage.send(url, {"do": "sleep", "seconds": 60})
    runner = stage.start(stage.function(timeout_seconds=60), [stage.queue_mapping()])
    until(lambda: runner.pids("sample") != [], "the function runs")

    runner.stop(grace_seconds=0.2)

    assert stage.left(url) == 1
    assert isinstance(runner.invoke("sample", b"{}"), Invocation)
    assert runner.invoke("sample", b"{}").is_throttled
