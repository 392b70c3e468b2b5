"""The gate of a migration: both targets answer the same questions by meaning."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.ledger_row import Status
from ops.deployment import Deployment
from ops.migration import migration_of
from ops.migration_gate import GateResult, measured
from ops.output import CommandError, UsageError
from tests.builders import make_source
from tests.unit.ops.migrations import SOURCE, Stack, item, last_word

MANY = tuple(f"d{number:02}" for number in range(20))


@pytest.fixture
def stack(deployment: Deployment) -> Stack:
    return Stack(deployment)


def gate(
    stack: Stack, wait: Callable[[float], None] = lambda _: None, questions: int = 20
) -> GateResult:
    migration = migration_of(stack.deployment, None)
    found = measured(migration, questions=questions, taken="sentence", wait=wait)
    assert found is not None
    return found


def test_both_targets_answer_the_same_questions(stack: Stack) -> None:
    """R44 R52: the new one finds the document second: a worse nDCG, the same documents."""
    order = {"default": ["{}", "x"], "next": ["x", "{}"]}
    stack.finds = lambda asked: [one.format(last_word(asked)) for one in order[asked["target"]]]

    found = gate(stack)

    assert (found.questions, found.left_out, found.different) == (3, 0, 0)
    assert found.old_ndcg_at_10.mean == 1
    assert found.difference.mean == pytest.approx(-0.369, abs=0.001)
    assert found.overlap_at_10.mean == 1


def test_answers_by_words_alone_pass_no_gate(stack: Stack) -> None:
    """R52: while a provider is down both would find the same, whatever the model."""
    stack.notes = ("the provider is down",)

    with pytest.raises(CommandError, match="default did not answer by knn: the provider is down"):
        gate(stack)


@pytest.mark.parametrize(
    ("target", "index"), [("default", "new-1"), ("next", "old-1"), ("next", "older-7")]
)
def test_target_that_another_index_answers_for_passes_no_gate(
    stack: Stack, target: str, index: str
) -> None:
    """R52: no target is compared with itself, whoever has moved an alias."""
    stack.answers[target] = index
    stack.finds = lambda asked: [last_word(asked)]

    with pytest.raises(CommandError, match=f"{target} was answered by the index {index}, and not"):
        gate(stack)


def test_switch_of_another_operator_meanwhile_passes_no_gate(stack: Stack) -> None:
    """R52: from then on both answers would be those of the new index."""

    def finds(asked: dict[str, Any]) -> list[str]:
        stack.answers["default"] = "new-1"
        return [last_word(asked)]

    stack.finds = finds

    with pytest.raises(CommandError, match="somebody has moved its alias"):
        gate(stack)


Change = Callable[[Stack], None]


def edited(stack: Stack) -> None:
    """The old index holds an edit that is on its way to the new one."""
    stack.put("b", " of today")
    stack.held["old"]["b"] = item("b", " of today")
    stack.row("b", Status.PENDING)


def waiting(stack: Stack) -> None:
    """A document is new, and waits for the budget of the new target."""
    del stack.held["new"]["b"]
    stack.row("b", Status.PENDING, parked=True, over_budget=True)


@pytest.mark.parametrize("change", [edited, waiting])
def test_document_that_is_on_its_way_asks_nothing(stack: Stack, change: Change) -> None:
    """R52: under live writes a question is about both targets, not about who was first."""
    change(stack)

    found = gate(stack)

    assert (found.questions, found.left_out, found.difference.mean) == (2, 1, 0)
    assert "b" not in map(last_word, stack.asked)
    assert "table (1 left out: 1 on their way to an index):" in next(iter(found.view()))


def written_to_one(stack: Stack) -> None:
    stack.put("b", " of today")
    stack.held["old"]["b"] = item("b", " of today")


def written_to_both(stack: Stack) -> None:
    written_to_one(stack)
    stack.held["new"]["b"] = item("b", " of today")


def deleted_in_one(stack: Stack) -> None:
    stack.delete("b")
    stack.held["new"].pop("b", None)


def deleted_in_both(stack: Stack) -> None:
    deleted_in_one(stack)
    stack.held["old"].pop("b", None)


def emptied_in_both(stack: Stack) -> None:
    empty = to_dynamodb({"id": "b", "title": "", "body": ""})
    stack.deployment.dynamodb.put_item(TableName=SOURCE.table, Item=empty)
    for index in stack.held.values():
        index.pop("b", None)


@pytest.mark.parametrize(
    "change", [written_to_one, written_to_both, deleted_in_one, deleted_in_both, emptied_in_both]
)
def test_document_that_is_written_while_it_is_asked_for_does_not_count(
    stack: Stack, change: Change
) -> None:
    """R52: the old target was asked before, and the new one after: both hold other texts."""
    usual = stack.finds

    def finds(asked: dict[str, Any]) -> list[str]:
        if asked["target"] == "next":
            change(stack)
        return usual(asked)

    stack.finds = finds

    found = gate(stack)

    assert (found.questions, found.left_out, found.difference.mean) == (2, 1, 0)


def rejected(stack: Stack, name: str) -> None:
    """An edit has reached the old index, and has failed in the new target."""
    stack.put(name, " of today")
    stack.held["old"][name] = item(name, " of today")
    stack.row(name, Status.FAILED)


def forgotten(stack: Stack, name: str) -> None:
    """The entry is lost: the row says that it is there."""
    del stack.held["new"][name]
    stack.row(name, Status.COMPLETED)


@pytest.mark.parametrize("change", [rejected, forgotten])
def test_document_that_failed_or_was_lost_in_the_new_target_counts_against_it(
    deployment: Deployment, change: Callable[[Stack, str], None]
) -> None:
    """R52: eight of twenty are stale for good; that is no document on its way."""
    stack = Stack(deployment, MANY)
    for name in MANY[:8]:
        change(stack, name)

    found = gate(stack)

    assert (found.questions, found.left_out, found.different) == (20, 0, 8)
    assert found.difference.mean == pytest.approx(-0.4)
    assert "8 of them about documents that have failed in the new target" in list(found.view())[1]


@pytest.mark.parametrize("in_both", [False, True])
def test_what_failed_in_the_old_target_is_no_merit_of_the_new_one(
    deployment: Deployment, in_both: bool
) -> None:
    """R52: eight of twenty have failed in the old target; of the others all are found second."""
    stack = Stack(deployment, MANY)
    for name in MANY[:8]:
        del stack.held["old"][name]
        stack.row(name, Status.FAILED, target="default")
        if in_both:
            del stack.held["new"][name]
    usual = stack.finds
    stack.finds = lambda asked: ["x"] * (asked["target"] == "next") + usual(asked)

    found = gate(stack)

    assert (found.questions, found.left_out, found.different_in_old) == (12, 8, 8)
    assert found.difference.mean == pytest.approx(-0.369, abs=0.001)
    assert "(8 left out: 8 failed in the old target, or lost there)" in next(iter(found.view()))


def test_document_has_to_hold_still_only_while_it_is_asked_for(deployment: Deployment) -> None:
    """R52: on a busy table each document is written again sooner than all have been asked for."""
    stack = Stack(deployment, MANY)
    usual = stack.finds
    written: list[str] = []

    def finds(asked: dict[str, Any]) -> list[str]:
        name = last_word(asked)
        found = usual(asked)
        # What was asked for a batch ago is edited.
        for one in before.get(name, ()):
            if one not in written:
                written.append(one)
                stack.put(one, " of today")
        return found

    order = asked_in_order(stack)
    first, second = order[:10], order[10:]
    before = dict.fromkeys(second, first)
    stack.finds = finds

    found = gate(stack)

    assert sorted(written) == sorted(first)
    assert (found.questions, found.left_out) == (20, 0)


def asked_in_order(stack: Stack) -> list[str]:
    """Return the documents in the order in which the old target is asked for them."""
    gate(stack)
    found = [last_word(one) for one in stack.asked if one["target"] == "default"]
    # Those of a batch are asked at the same time.
    assert set(found) == set(MANY)
    return found


def test_missing_package_is_said_before_anything_is_paid(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R52: the wheel brings it only when it is asked for."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)

    with pytest.raises(UsageError, match=r"pip install 'embedq\[eval\]'"):
        gate(stack)

    assert stack.asked == []


def test_write_that_reaches_the_ledger_late_does_not_count(stack: Stack) -> None:
    """R52: the stream brings it a moment after the table has it; until then its row is closed."""
    stack.put("b", " of today")
    stack.held["old"]["b"] = item("b", " of today")
    stack.row("b", Status.COMPLETED)
    waited = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        stack.row("b", Status.PENDING)

    found = gate(stack, wait)

    assert (found.questions, found.left_out, found.difference.mean) == (2, 1, 0)
    assert len(waited) == 1


def test_nobody_waits_where_nothing_differs(stack: Stack) -> None:
    """R52: the usual gate takes as long as its questions."""
    waited: list[float] = []

    gate(stack, waited.append)

    assert waited == []


def test_gate_asks_nothing_where_most_documents_are_on_their_way(stack: Stack) -> None:
    """R52: one question of three is no measure, and each is paid."""
    for name in ("a", "b"):
        stack.held["new"][name] = item(name, " of yesterday")
        stack.row(name, Status.PENDING)

    with pytest.raises(CommandError, match=r"2 of 3 questions are left out.*: 2 on their") as no:
        gate(stack)

    assert "Wait until the lanes are empty" in str(no.value)
    assert "`embedq dead causes` says what fails" in str(no.value)
    assert stack.asked == []


def test_gate_says_nothing_where_most_documents_were_changed_meanwhile(stack: Stack) -> None:
    """R52: as after the first look."""

    def finds(asked: dict[str, Any]) -> list[str]:
        for name in ("a", "b"):
            stack.put(name, " of today")
        return [last_word(asked)]

    stack.finds = finds

    with pytest.raises(CommandError, match=r"2 of 3 questions are left out.*: 2 edited meanwhile"):
        gate(stack)


def add_source(stack: Stack) -> None:
    """Let a second table feed both targets; it is empty."""
    notes = make_source(name="notes", table="notes", targets=SOURCE.targets)
    stack.deployment.outputs["SourceNotesSettings"] = notes.model_dump_json()
    stack.deployment.dynamodb.create_table(
        TableName="notes",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )


@pytest.mark.parametrize("body", [None, "short"])
def test_source_without_a_question_leaves_them_to_the_others(
    stack: Stack, body: str | None
) -> None:
    """R52: an empty table, or one of short texts."""
    add_source(stack)
    if body:
        note = to_dynamodb({"id": "n", "body": body})
        stack.deployment.dynamodb.put_item(TableName="notes", Item=note)

    assert gate(stack).questions == 3


def test_tables_without_a_question_name_the_option(deployment: Deployment) -> None:
    """R52: of the command that asks."""
    stack = Stack(deployment, ())
    short = to_dynamodb({"id": "n", "body": "short"})
    deployment.dynamodb.put_item(TableName=SOURCE.table, Item=short)

    with pytest.raises(CommandError, match="--taken is one of title, sentence, words"):
        gate(stack)


def test_tables_without_a_document_have_nothing_to_compare(deployment: Deployment) -> None:
    """R52: and that is no failure."""
    migration = migration_of(Stack(deployment, ()).deployment, None)

    assert measured(migration, questions=10, taken="sentence") is None
