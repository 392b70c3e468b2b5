"""The storm's plan is data: one seed, one plan, and the plan holds what a storm must have."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.storm.operations import WRITERS, Content, Kind, Operation
from benchmarks.storm.plan import make_plan
from benchmarks.storm.texts import POISON, item, texts_needed, tokens_of
from benchmarks.storm.weather import PROVIDER_FAULTS, Outage
from functions.core.lane import PRIORITIES, Lane
from functions.core.settings import SourceSettings
from local.provider.request import count_tokens
from tests.builders import make_target

SOURCE = SourceSettings(
    name="articles",
    table="articles",
    key=("id",),
    text="{title}\n\n{body}",
    skip_attribute="skip_embedding",
)
# By whether the document exists; None: it was never written.
NEXT = {
    None: (Kind.PUT,),
    False: (Kind.RECREATE,),
    True: (Kind.EDIT, Kind.METADATA, Kind.DELETE),
}


def write(content: Content | None) -> Operation:
    """Return a write of one document."""
    kind = Kind.DELETE if content is None else Kind.PUT
    return Operation(0.0, 0, "a", kind, content)


def content(*paragraphs: int, author: str = "ada") -> Content:
    """Return a content of these paragraphs."""
    return Content(paragraphs, author, Lane.NORMAL)


def cost_of(operations: Sequence[Operation]) -> int:
    """Return the tokens that these writes need."""
    return tokens_of(texts_needed(operations, SOURCE, make_target()))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), operations=st.integers(1, 300), kills=st.integers(0, 20))
def test_same_seed_and_size_give_the_same_plan(seed: int, operations: int, kills: int) -> None:
    """R81: a printed seed replays the schedule of writes, faults, outages and kills."""
    first = make_plan(seed=seed, operations=operations, kills=kills)

    assert make_plan(seed=seed, operations=operations, kills=kills) == first
    assert (len(first.operations), len(first.kills)) == (operations, kills)


def test_another_seed_gives_another_plan() -> None:
    """R81."""
    one, other = (make_plan(seed=seed, operations=50, kills=5) for seed in (1, 2))

    assert one.operations != other.operations
    assert one.faults != other.faults
    assert one.kills != other.kills


def test_number_of_kills_leaves_the_writes_as_they_are() -> None:
    """R81: a failure can be looked for with fewer kills."""
    one, other = (make_plan(seed=1, operations=500, kills=kills) for kills in (0, 5))

    assert one.operations == other.operations


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_document_lives_a_life_that_makes_sense(seed: int) -> None:
    """R81: first put, deleted only while it exists, made again only after a delete."""
    exists: dict[str, bool] = {}
    for operation in make_plan(seed=seed, operations=300, kills=0).operations:
        expected = NEXT[exists.get(operation.document)]
        assert operation.kind in expected
        exists[operation.document] = operation.content is not None


def test_large_plan_holds_everything_that_can_go_wrong() -> None:
    """R81: every fault of the provider, every outage, every function killed, every priority."""
    plan = make_plan(seed=7, operations=10_000, kills=500)

    assert {window.fault.kind for window in plan.faults} == {one.kind for one in PROVIDER_FAULTS}
    assert {window.outage for window in plan.outages} == set(Outage)
    assert {kill.folder for kill in plan.kills} == {"embed", "enqueue", "sweep", "breaker"}
    assert {one.kind for one in plan.operations} == set(Kind)
    assert {one.writer for one in plan.operations} == set(range(WRITERS))
    written = [one.content for one in plan.operations if one.content is not None]
    assert {one.priority for one in written} == set(PRIORITIES)
    assert any(one.is_poisoned for one in written)
    assert any(one.is_skipped for one in written)
    assert max(len(one.paragraphs) for one in written) >= 8


def test_windows_do_not_overlap_and_all_begin_within_the_storm() -> None:
    """R81: one fault at a time, so that each can be told from the others."""
    plan = make_plan(seed=3, operations=3000, kills=10)

    for windows in (plan.faults, plan.outages):
        times = [(window.at_seconds, window.at_seconds + window.seconds) for window in windows]
        assert all(end <= begin for (_, end), (begin, _) in pairwise(times))
        assert times[-1][0] < plan.seconds


def test_poisoned_content_carries_the_word_that_the_provider_refuses() -> None:
    """R24."""
    poisoned = Content((1,), "ada", Lane.HIGH, is_poisoned=True)

    assert POISON in item("a", poisoned)["body"]
    assert POISON not in item("a", content(1))["body"]


def test_needed_tokens_count_only_what_the_version_before_did_not_have() -> None:
    """R06 R13: the same text with another author is free; after a delete it is not."""
    text = f"Title of a\n\n{item('a', content(1))['body']}"
    cost = cost_of([write(content(1))])
    assert cost == count_tokens(text)

    again = [write(content(1)), write(content(1, author="grace"))]
    assert cost_of(again) == cost
    made_again = [write(content(1)), write(None), write(content(1))]
    assert cost_of(made_again) == 2 * cost


@pytest.mark.parametrize("skipped", [True, False], ids=["skipped", "not skipped"])
def test_skipped_document_needs_no_tokens(skipped: bool) -> None:
    """R32."""
    one = write(Content((1,), "ada", Lane.BULK, is_skipped=skipped))

    assert (cost_of([one]) == 0) is skipped
