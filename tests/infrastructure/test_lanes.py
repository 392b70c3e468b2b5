"""Lanes: order, dead letters, and room for every poll."""

from collections import defaultdict
from typing import Any

from tests.infrastructure.synthesized import Synthesized

FOURTEEN_DAYS = 14 * 24 * 60 * 60


def lanes(synthesized: Synthesized) -> dict[str, dict[str, Any]]:
    """Return the queues that are no DLQ, and not that of errands."""
    others = ("dead-letters", "errands")
    return {n: q for n, q in synthesized.queues().items() if not any(o in n for o in others)}


def arn(queue: str) -> str:
    """Spell the ARN of a queue as a policy names it."""
    return f"arn:AWS::Partition:sqs:AWS::Region:AWS::AccountId:{queue}"


def test_live_lanes_are_fifo_with_high_throughput(synthesized: Synthesized) -> None:
    """R32: one limit and one order per document, not per queue."""
    live = [q for n, q in lanes(synthesized).items() if n.endswith(("-high.fifo", "-normal.fifo"))]

    assert live
    for queue in live:
        assert queue["FifoQueue"] is True
        assert queue["DeduplicationScope"] == "messageGroup"
        assert queue["FifoThroughputLimit"] == "perMessageGroupId"
        assert "ContentBasedDeduplication" not in queue


def test_bulk_and_delete_are_standard_queues(synthesized: Synthesized) -> None:
    """R32: bulk takes batches of hundreds, which FIFO cannot."""
    standard = [q for n, q in lanes(synthesized).items() if n.endswith(("-bulk", "-delete"))]

    assert standard
    assert all("FifoQueue" not in queue for queue in standard)


def test_sequential_source_has_a_fifo_queue_of_its_own_worked_one_by_one(
    synthesize: Any,
) -> None:
    """R33: one task at a time."""
    stage = synthesize("example")

    queue = stage.queues()["embedq-example-default-sequential-messages.fifo"]
    mappings = {m["EventSourceArn"]: m for f in stage.functions("embed") for m in stage.mappings(f)}
    sequential = [m for source, m in mappings.items() if "Sequential" in source]

    assert queue["FifoQueue"] is True
    assert [mapping["BatchSize"] for mapping in sequential] == [1]


def test_each_lane_ends_in_the_dead_letters_of_its_own_kind(synthesized: Synthesized) -> None:
    """R84: redrive after ten receives, to a DLQ that accepts these queues and no other."""
    resources = synthesized.resources("AWS::SQS::Queue")
    accepted: dict[str, list[str]] = defaultdict(list)
    for name, queue in lanes(synthesized).items():
        policy = queue["RedrivePolicy"]
        dead = resources[policy["deadLetterTargetArn"].removesuffix(".Arn")]["Properties"]

        assert policy["maxReceiveCount"] == 10
        assert dead.get("FifoQueue") == queue.get("FifoQueue")
        accepted[dead["QueueName"]].append(arn(name))

    for name, queue in synthesized.queues().items():
        if "dead-letters" in name:
            assert queue["RedriveAllowPolicy"]["redrivePermission"] == "byQueue"
            assert queue["RedriveAllowPolicy"]["sourceQueueArns"] == accepted[name]
            assert "RedrivePolicy" not in queue


def test_no_task_is_forgotten_before_fourteen_days(synthesized: Synthesized) -> None:
    """R46 R84: lanes and DLQs keep messages as long as SQS can, encrypted."""
    for queue in synthesized.queues().values():
        assert queue["MessageRetentionPeriod"] == FOURTEEN_DAYS
        assert queue["SqsManagedSseEnabled"] is True


def test_visibility_is_six_times_the_timeout_and_the_window(synthesized: Synthesized) -> None:
    """R08: a task stays hidden while Lambda may still be working or retrying it."""
    queues = synthesized.resources("AWS::SQS::Queue")
    for name, function in synthesized.functions("embed").items():
        for mapping in synthesized.mappings(name):
            queue = queues[mapping["EventSourceArn"].removesuffix(".Arn")]["Properties"]
            window = mapping.get("MaximumBatchingWindowInSeconds", 0)

            assert queue["VisibilityTimeout"] >= 6 * function["Timeout"]
            assert queue["VisibilityTimeout"] >= 6 * function["Timeout"] + (
                window if "Bulk" in mapping["EventSourceArn"] else 0
            )


def test_reserve_has_room_for_every_poll(synthesized: Synthesized) -> None:
    """R08: every mapping is limited, and the limits fit into the function's reserve."""
    functions = synthesized.functions("embed")

    assert functions
    for name, function in functions.items():
        limits = [
            mapping["ScalingConfig"]["MaximumConcurrency"] for mapping in synthesized.mappings(name)
        ]

        assert all(2 <= limit <= 1000 for limit in limits)
        assert function["ReservedConcurrentExecutions"] >= sum(limits)


def test_every_lane_is_read_with_partial_answers(synthesized: Synthesized) -> None:
    """R14: each target's own function reads all of its lanes, and reports failures one by one."""
    read = defaultdict(list)
    for name in synthesized.functions("embed"):
        for mapping in synthesized.mappings(name):
            assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
            read[name].append(mapping["EventSourceArn"])

    everything = [arn for arns in read.values() for arn in arns]

    assert len(everything) == len(set(everything)) == len(lanes(synthesized))


def test_batches_are_as_large_as_the_lane_allows(synthesize: Any) -> None:
    """R32: FIFO ten and no window; bulk hundreds and a window."""
    stage = synthesize("dev")
    (function,) = stage.functions("embed")
    batches = {
        mapping["EventSourceArn"].split("Lanes")[1][:4]: (
            mapping["BatchSize"],
            mapping.get("MaximumBatchingWindowInSeconds"),
        )
        for mapping in stage.mappings(function)
    }

    assert batches == {"High": (10, None), "Norm": (10, None), "Bulk": (200, 5), "Dele": (100, 1)}


def test_embed_may_feed_its_own_lanes(synthesized: Synthesized) -> None:
    """R32: Lambda does not stop a deleted document that comes back as a runaway loop."""
    loops = {f["RecursiveLoop"] for f in synthesized.functions("embed").values()}

    assert loops == {"Allow"}
