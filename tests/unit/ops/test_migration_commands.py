"""The commands of a migration: what they refuse, what --force does, and what they say is next."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from functions.adapters.opensearch_http import unavailable
from functions.core.backfill_job import JobState
from functions.core.ledger_row import Status
from ops import migrating
from ops.cli import main
from ops.deployment import Deployment
from ops.migration import GateStore, migration_of
from ops.migration_answers import Finished, Switched
from ops.output import CommandError, UsageError, as_text
from ops.proposal import Proposal
from tests.builders import NOW_MS
from tests.unit.ops.migrations import NEW, OLD, Stack, item, last_word


@pytest.fixture
def stack(deployment: Deployment) -> Stack:
    return Stack(deployment)


def switch(stack: Stack, **options: Any) -> Proposal[Switched]:
    return migrating.switch(
        stack.deployment, reason="test", taken="sentence", wait=lambda _: None, **options
    )


class Time:
    """Passes only while a command waits; then something may happen."""

    def __init__(self, happens: Callable[[], None] = lambda: None) -> None:
        self.now = 0.0
        self.happens = happens

    def wait(self, seconds: float) -> None:
        self.now += 20 * seconds
        self.happens()


def finish(stack: Stack, happens: Callable[[], None] = lambda: None) -> Finished:
    time = Time(happens)
    return migrating.finish(stack.deployment, wait=time.wait, clock=lambda: time.now).act()


def next_of(stack: Stack) -> str:
    return migrating.status(stack.deployment).next


def is_switched(stack: Stack) -> bool:
    return stack.answers.get("default") == "new-1"


def empty_new(stack: Stack) -> None:
    stack.held["new"].clear()


# Switch.


def test_switch_lets_the_new_target_answer(stack: Stack) -> None:
    """R44 R52: with what was measured."""
    proposal = switch(stack)

    assert proposal.what.endswith("coverage 100.00 %, nDCG@10 1.000 -> 1.000, overlap@10 1.000")
    assert proposal.act().before == "old-1"
    assert is_switched(stack)
    assert "gate of" in as_text(migrating.status(stack.deployment))


def fail_half(stack: Stack) -> None:
    stack.put("b", " of today")
    stack.held["old"]["b"] = item("b", " of today")
    stack.row("b", Status.FAILED)


def find_less(stack: Stack) -> None:
    usual = stack.finds
    stack.finds = lambda asked: (
        [] if asked["target"] == "next" and last_word(asked) == "b" else usual(asked)
    )


def hold_back(stack: Stack) -> None:
    for name in ("a", "b"):
        stack.held["new"][name] = item(name, " of yesterday")
        stack.row(name, Status.PENDING)


def move_alias(stack: Stack) -> None:
    stack.answers["next"] = "old-1"


def move_old_alias(stack: Stack) -> None:
    stack.answers["default"] = "older-1"


def lose_old(stack: Stack) -> None:
    stack.lose(OLD)


def shorten(stack: Stack) -> None:
    for name in ("a", "b", "c"):
        stack.deployment.dynamodb.put_item(
            TableName="articles-table", Item={"id": {"S": name}, "body": {"S": "short"}}
        )


@pytest.mark.parametrize(
    ("change", "words", "found"),
    [
        (empty_new, "3 of 3 documents are missing in next", "nDCG@10 1.000 -> 0.000"),
        (find_less, "nDCG@10 (1 = every document found first) is lower by 0.333", "-> 0.667"),
        (fail_half, "1 of the documents have failed in next", "nDCG@10 1.000 -> 0.667"),
        (hold_back, "2 of 3 questions are left out", "quality not measured"),
        (move_alias, "next was answered by the index old-1", "quality not measured"),
        (shorten, "--taken is one of title, sentence, words", "quality not measured"),
        (move_old_alias, "answered by older-1, and neither by", "quality not measured"),
        (lose_old, "answered by no index", "coverage not measured, quality not"),
        (lose_old, "the index of default is lost", "coverage not measured, quality not"),
    ],
)
def test_switch_is_refused_with_a_reason_unless_it_is_forced(
    stack: Stack,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Stack], None],
    words: str,
    found: str,
) -> None:
    """R44 R52: a new target that is worse, or a stack on which nothing can be measured."""
    change(stack)

    with pytest.raises(CommandError, match=r"not switched: .*\. --force switches all the") as no:
        switch(stack)
    assert words in str(no.value)
    assert not is_switched(stack)

    proposal = switch(stack, force=True)
    assert found in proposal.what
    assert proposal.what.endswith(", forced")
    assert words in " ".join(capsys.readouterr().err.split())
    proposal.act()
    assert is_switched(stack)


def test_lost_new_index_answers_nothing_by_force_either(stack: Stack) -> None:
    """R44: the function that moves the alias refuses it."""
    stack.lose(NEW)

    for force in (False, True):
        with pytest.raises(CommandError) as no:
            switch(stack, force=force)
        words = "not switched: the index of next is lost: .*, not by --force either: fill it first"
        assert re.search(words, no.value.message)
        assert "--force switches all the same" not in no.value.message


@pytest.mark.parametrize("move", [migrating.switch, migrating.rollback])
def test_alias_that_must_not_move_is_refused_in_words(
    stack: Stack, move: Callable[..., Proposal[Switched]]
) -> None:
    """R44: it is no refusal of OpenSearch, and nobody looks for a missing right."""
    lost, options = (NEW, {"reason": "test"}) if move is migrating.switch else (OLD, {})
    proposal = move(stack.deployment, **options)
    stack.lose(lost)

    with pytest.raises(CommandError) as no:
        proposal.act()

    index = lost.index
    assert no.value.message == (
        f"the read alias was not moved: OpenSearch has no index behind {index}"
    )


def test_help_of_switch_gives_the_lost_index_as_an_example(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """R44: and means it."""
    assert main(["migrate", "switch", "--help"]) == 0
    assert "switch --force --reason 'the old index is damaged'" in capsys.readouterr().out


def test_second_switch_is_refused_by_force_too(stack: Stack) -> None:
    """R44: there is nothing to do."""
    switch(stack).act()

    with pytest.raises(UsageError, match="answered by next already"):
        switch(stack, force=True)


def test_gate_that_compares_an_index_with_itself_is_not_kept(stack: Stack) -> None:
    """R52: nor shown as if it had been one."""
    move_alias(stack)

    switch(stack, force=True)

    assert GateStore(migration_of(stack.deployment, None)).read() is None


def test_forced_switch_without_a_measure_leaves_no_earlier_one(stack: Stack) -> None:
    """R52: what was measured once says nothing about it; a look alone changes nothing."""
    switch(stack)
    kept = GateStore(migration_of(stack.deployment, None))
    hold_back(stack)

    proposal = switch(stack, force=True)
    assert kept.read() is not None
    proposal.act()

    assert migrating.status(stack.deployment).gate is None


def test_stage_without_documents_is_switched(deployment: Deployment) -> None:
    """R44: there is nothing to compare, and nothing to lose."""
    stack = Stack(deployment, ())
    assert "embedq migrate switch --reason" in next_of(stack)

    proposal = switch(stack)

    assert proposal.what.endswith("coverage 100.00 %, no documents to compare")
    proposal.act()
    assert is_switched(stack)


# Finish.


def test_finish_lists_what_to_remove(stack: Stack) -> None:
    """R44: once the new target has all."""
    switch(stack).act()

    assert 'delete "default" from stages.test.sources.articles.targets' in finish(stack).steps


def fail_in_new(stack: Stack) -> None:
    stack.row("a", Status.FAILED)


def heal_in_new(stack: Stack) -> None:
    stack.row("a", Status.FAILED, next_attempt_ms=NOW_MS)


def edit_without_end(stack: Stack) -> None:
    """Edit a document that the new target has not worked yet: it holds an entry all the same."""
    stack.row("a", Status.PENDING)


def park_in_new(stack: Stack) -> None:
    stack.row("a", Status.PENDING, parked=True)


def wait_for_budget(stack: Stack) -> None:
    stack.row("a", Status.PENDING, parked=True, over_budget=True)


def keep_job(state: JobState, target: str) -> Callable[[Stack], None]:
    def keep(stack: Stack) -> None:
        stack.job(state, target)

    return keep


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (empty_new, "3 of 3 documents are missing in next: .*`embedq migrate start --reason"),
        (keep_job(JobState.RUNNING, "next"), "of next is running: `embedq jobs` shows how far"),
        (keep_job(JobState.PAUSED, "next"), "of next is paused: `embedq jobs resume job-1`"),
        (keep_job(JobState.FAILED, "next"), "of next is failed: .*`embedq jobs cancel job-1` ends"),
        (fail_in_new, "1 documents fail in next alone: `embedq dead causes`"),
        (heal_in_new, "1 documents fail in next alone: `embedq dead causes`"),
        (edit_without_end, "1 documents are on their way to next: `embedq stats --target next`"),
        (park_in_new, "1 documents are on their way to next: `embedq stats --target next`"),
        (wait_for_budget, "1 documents of next wait for its budget: `embedq budget`"),
        (
            keep_job(JobState.FAILED, "default"),
            "of default is failed: .*`embedq jobs cancel job-1`",
        ),
        (keep_job(JobState.RUNNING, "default"), "of default is running: .*jobs cancel job-1` ends"),
    ],
)
def test_finish_is_refused_while_a_target_has_something_to_do(
    stack: Stack, change: Callable[[Stack], None], words: str
) -> None:
    """R44: after a forced switch, too; each with what to do next."""
    change(stack)
    switch(stack, force=True).act()

    with pytest.raises(CommandError, match=f"not finished: .*{words}"):
        finish(stack)


def test_document_that_fails_in_both_targets_is_in_nobodys_way(stack: Stack) -> None:
    """R44: the new one is no worse for it."""
    for target in ("default", "next"):
        stack.row("a", Status.FAILED, target)
    switch(stack).act()

    assert finish(stack).target == "next"


def test_write_that_comes_while_the_end_is_asked_for_is_not_waited_for(stack: Stack) -> None:
    """R44: under constant writes some are always on their way."""
    switch(stack).act()
    stack.row("a", Status.PENDING, queued_ms=round(1000 * time.time()) + 3_600_000)

    assert finish(stack).target == "next"


@pytest.mark.parametrize("state", [JobState.DONE, JobState.CANCELLED])
def test_backfill_that_has_ended_is_in_nobodys_way(stack: Stack, state: JobState) -> None:
    """R44: however it has ended."""
    stack.job(state)
    switch(stack).act()

    assert finish(stack).target == "next"


def send_to_old(stack: Stack) -> None:
    """Let writes wait in a lane of the old target, and one be given up."""
    for output in ("TargetDefaultLaneBulkUrl", "TargetDefaultDeadLettersStandardUrl"):
        url = stack.deployment.outputs[output]
        stack.deployment.sqs.send_message(QueueUrl=url, MessageBody="{}")


def test_migration_away_from_a_lost_index_can_be_finished(stack: Stack) -> None:
    """R44: under live writes, which its breaker keeps in its lanes; what was not seen is said."""
    stack.lose(OLD)
    switch(stack, force=True).act()
    send_to_old(stack)

    finished = finish(stack)

    assert not any("DELETE" in step for step in finished.steps)
    said = as_text(finished)
    assert "not checked: coverage, and the lanes and dead letters of default" in said
    assert "the index of default is lost" in said
    assert "`embedq verify --target next` compares next with the tables" in said


def test_lanes_of_the_old_target_are_in_the_way_of_the_end(stack: Stack) -> None:
    """R44: what waits there is written to an index that may be wanted again."""
    switch(stack).act()
    stack.deployment.sqs.send_message(
        QueueUrl=stack.deployment.outputs["TargetDefaultLaneBulkUrl"], MessageBody="{}"
    )

    with pytest.raises(CommandError, match="not finished: 1 messages in the lane bulk of default"):
        finish(stack)


def test_last_write_may_be_on_its_way_when_the_end_is_asked_for(stack: Stack) -> None:
    """R44: of a small table it is more than a thousandth; it is waited for as those of the old."""
    switch(stack).act()
    late = stack.held["new"].pop("a")

    assert finish(stack, lambda: stack.held["new"].update(a=late)).replaced == "default"


def test_migration_to_a_lost_index_is_not_finished(stack: Stack) -> None:
    """R44: the old one is needed more than ever."""
    switch(stack).act()
    stack.lost.add("new")

    with pytest.raises(CommandError, match="the index of next is lost"):
        finish(stack)


# Status and start.


@pytest.mark.parametrize("change", [empty_new, wait_for_budget, fail_in_new])
def test_status_does_not_name_the_finish_before_its_time(
    stack: Stack, change: Callable[[Stack], None]
) -> None:
    """R44: what `finish` would refuse comes before it."""
    change(stack)
    switch(stack, force=True).act()

    found = next_of(stack)

    assert "rollback" in found
    assert not re.match("`embedq migrate finish", found)


@pytest.mark.parametrize(
    ("lost", "step"),
    [(OLD, "embedq migrate switch --force"), (NEW, "docs/operations/index-was-lost.md")],
)
def test_status_says_which_index_is_lost(stack: Stack, lost: Any, step: str) -> None:
    """R44: in words, with what helps."""
    stack.lose(lost)

    status = migrating.status(stack.deployment)

    assert f"coverage not measured: the index of {lost.name} is lost" in as_text(status)
    assert step in status.next
    assert status.coverage_percent == 0


@pytest.mark.parametrize("kept", ['{"questions": 1}', '{"of": "a newer version"}', ""])
def test_status_without_a_gate_that_it_can_read_shows_the_rest(stack: Stack, kept: str) -> None:
    """R44: another operator may have a newer version, whose result has other fields."""
    GateStore(migration_of(stack.deployment, None)).write(kept)

    assert "no gate has run yet" in as_text(migrating.status(stack.deployment))


def test_status_names_the_way_back_where_nothing_answers(stack: Stack) -> None:
    """R44: with the new index the alias is lost by which the old one is searched."""
    switch(stack).act()
    stack.lose(NEW)

    found = next_of(stack)

    assert re.match("`embedq migrate rollback` at once", found)
    assert "docs/operations/index-was-lost.md" in found


def test_rollback_to_an_index_that_has_less_asks_first(stack: Stack) -> None:
    """R44: one that was lost and made again answers with nothing."""
    switch(stack).act()
    whole = migrating.rollback(stack.deployment).questions
    stack.held["old"].clear()

    [question] = migrating.rollback(stack.deployment).questions

    assert whole == ()
    assert question.startswith("0 documents, and not 3 as in next, can be found in default.")


@pytest.mark.parametrize("lost", [OLD, NEW])
def test_rollback_beside_a_lost_index_asks_nothing(stack: Stack, lost: Any) -> None:
    """R44: it is refused, or the one way to have searches answered."""
    switch(stack).act()
    stack.lose(lost)

    assert migrating.rollback(stack.deployment).questions == ()


def test_rollback_beside_an_index_that_does_not_answer_asks_nothing(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R44: or where the function that counts is throttled: said, and no reason to stay."""
    switch(stack).act()

    def busy(*_: Any, **__: Any) -> Any:
        raise unavailable("the function query was not called")

    monkeypatch.setattr(stack, "call", busy)

    proposal = migrating.rollback(stack.deployment)

    assert proposal.questions == ()
    assert proposal.act().answered_by == "default"
    assert "documents not counted" in capsys.readouterr().err


@pytest.mark.parametrize(("change", "index"), [(move_old_alias, "older-1"), (lose_old, "no index")])
def test_status_says_that_neither_target_answers(
    stack: Stack, change: Callable[[Stack], None], index: str
) -> None:
    """R44: an alias that a person has moved, or that was lost with its index."""
    change(stack)

    status = migrating.status(stack.deployment)

    assert status.answered_by == ""
    assert f"next replaces default; searches of default are answered by {index}" in as_text(status)


def test_status_counts_the_documents_that_wait_for_the_budget(stack: Stack) -> None:
    """R44: a backfill would not send them."""
    stack.job(JobState.DONE)
    del stack.held["new"]["a"]
    wait_for_budget(stack)

    status = migrating.status(stack.deployment)

    assert status.over_budget == 1
    assert "1 documents wait for the budget" in as_text(status)
    assert "embedq budget" in status.next


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.PAUSED, JobState.FAILED])
def test_start_is_refused_beside_a_backfill_that_has_not_ended(
    stack: Stack, state: JobState
) -> None:
    """R44: two would send the same documents; a paused one goes on where it stopped."""
    stack.job(state)

    with pytest.raises(UsageError, match=f"job-1 of next is {state}: .*jobs cancel job-1` ends it"):
        migrating.start(stack.deployment, reason="again")


def test_estimate_says_what_the_budget_makes_of_it(stack: Stack) -> None:
    """R19 R44: as that of a backfill does."""
    limited = NEW.model_copy(update={"budget": {"tokens_per_day": 10}})
    stack.deployment.outputs["TargetNextSettings"] = limited.model_dump_json(warnings=False)
    empty_new(stack)

    proposal = migrating.start(stack.deployment, reason="larger model")

    assert proposal.documents == 3
    assert "; its budget leaves bulk 8 tokens now, and makes it last" in proposal.what
