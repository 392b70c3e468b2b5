"""Tasks: pointers only, readable by SQS and by us."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.identity import DocumentId
from functions.core.lane import Lane, faster
from functions.core.task import MalformedTaskError, parse_task
from tests.builders import NOW_MS, make_task


@given(name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=100))
def test_task_survives_the_queue_with_any_id(name: str) -> None:
    """R04: any characters in an id; the body is plain ASCII, which SQS always takes."""
    task = make_task(document_id=DocumentId(name), key={"id": {"S": name}})

    body = task.to_json()

    assert body.isascii()
    assert parse_task(body) == task


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "^the body: "),
        ("hello", "^the body: "),
        ("[]", "^the body: "),
        ('{"version": "x"}', "^target: "),
        (make_task().to_json().replace('"normal"', '"express"'), "^lane: "),
        (make_task().to_json().replace('{"S":"a"}', '{"S":7}'), r"^key\.id\.S: "),
    ],
    ids=["empty", "no JSON", "list", "fields missing", "unknown lane", "wrong inside"],
)
def test_message_that_is_not_ours_is_refused(body: str, reason: str) -> None:
    """R10: a foreign message is recognised, by the field that is wrong."""
    with pytest.raises(MalformedTaskError, match=reason):
        parse_task(body)


def test_task_holds_no_text() -> None:
    """R63: what a queue carries can be logged: ids only."""
    assert make_task(trace_id="1-abc").log_fields() == {
        "target": "default",
        "source": "articles",
        "document_id": "a",
        "version": NOW_MS,
        "lane": "normal",
        "trace_id": "1-abc",
    }


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Lane.HIGH, Lane.BULK, Lane.HIGH),
        (Lane.BULK, Lane.HIGH, Lane.HIGH),
        (Lane.NORMAL, Lane.BULK, Lane.NORMAL),
        (Lane.BULK, Lane.BULK, Lane.BULK),
        (Lane.BULK, Lane.DELETE, Lane.BULK),
    ],
)
def test_faster_lane_wins(one: Lane, other: Lane, expected: Lane) -> None:
    """R32: an open task is never slowed down by its successor."""
    assert faster(one, other) is expected


def test_tasks_of_a_sequential_source_are_one_group() -> None:
    """R33: one group is one task at a time."""
    tasks = [make_task(document_id=DocumentId(name), lane=Lane.SEQUENTIAL) for name in ("a", "b")]

    assert {(task.group, task.queue) for task in tasks} == {("sequential", "sequential-articles")}
