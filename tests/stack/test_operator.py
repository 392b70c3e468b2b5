"""What an operator does at night, on the real engines: every answer keeps to its schema."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from functions.core.ledger_row import Status
from local import background
from local.index_fault import IndexFault
from local.provider.faults import Fault, FaultKind
from local.stack import LocalStack
from ops import breaking, commands_doc, frame
from ops.cli import main
from ops.demo.provider import Provider
from ops.document_rows import read_row
from ops.embedding import embed
from ops.health import health
from ops.lanes import lanes
from ops.output import CommandError, UsageError
from ops.statistics import stats
from ops.waiting import wait
from tests.stack.articles import Articles
from tests.stack.mappings import disabled
from tests.stack.rights import Rights

DOWN = Fault(FaultKind.SERVER_ERROR, status=503)
# They start and stop stacks, or take minutes; tests of their own have their answers.
ELSEWHERE = {"up", "down", "demo", "smoke", "env", "logs", "console"}
BREAKING = {"break show", "break provider", "break index", "break end", "poison"}
# They need a budget, a job, a second target or a redrive that takes long.
PREPARED = {"budget raise", "backfill", "jobs pause", "jobs resume", "jobs cancel", "dead stop"} | {
    f"migrate {word}" for word in ("start", "status", "switch", "rollback", "finish")
}

Run = Callable[..., Any]


@pytest.fixture
def answer_of(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return how to run a command with --json; its answer is checked against its schema."""
    schemas = commands_doc.schemas()

    def answer_of(words: str, *options: str, code: int = 0) -> Any:
        assert main([*words.split(), *options, "--json"]) == code
        answer = json.loads(capsys.readouterr().out)
        schema = {**schemas["commands"][words], "$defs": schemas["$defs"]}
        Draft202012Validator(schema).validate(answer)
        return answer

    return answer_of


@pytest.fixture
def run(articles: Articles, monkeypatch: pytest.MonkeyPatch, answer_of: Run) -> Iterator[Run]:
    """Return how to run a command on the session's stack.

    In the end every command was run, with rights that docs/rights.md gives.
    """
    rights = Rights()
    deployment = rights.watch(articles.deployment)
    monkeypatch.setattr(frame, "connect", lambda *_: deployment)
    monkeypatch.setattr(background, "folders", list)
    ran = set()

    def run(words: str, *options: str, code: int = 0) -> Any:
        ran.add(words)
        rights.command = words
        return answer_of(words, *options, code=code)

    yield run
    assert ran == set(commands_doc.schemas()["commands"]) - ELSEWHERE - PREPARED - BREAKING
    assert rights.missing() == {}


def test_every_answer_keeps_to_its_schema(run: Run, articles: Articles, tmp_path: Path) -> None:
    """R40 R41 R42 R47: all commands in turn, each once, as JSON."""
    name, bad = articles.new_name(), articles.new_name("bad")
    item = {"id": name, "title": "T", "body": "hello"}
    assert run("put", json.dumps(item), "--wait")["documents"] == [name]
    assert run("wait", name)["found"] is True
    assert run("get", name)["item"] == item
    # The entry is found a moment before its row is closed.
    articles.wait(name)
    assert run("status", name)["status"] == "completed"
    assert run("timeline", name)["entries"]
    assert run("search", "hello")["documents"]
    judged = tmp_path / "judgments.jsonl"
    judged.write_text(json.dumps({"query": "hello", "relevant": [name]}))
    found = run("eval", "--judgments", str(judged))
    assert [one["mode"] for one in found["measured"]] == ["knn", "text", *["hybrid"] * 3]
    assert run("embed", name)["status"] == "completed"
    assert run("requeue", name)["lane"] == "normal"
    assert run("recover", "--yes")["open"] >= 0
    for words in ("stats", "lanes", "stuck", "breakers", "verify", "jobs list", "budget show"):
        run(words)
    assert run("health")["checks"]
    assert run("plan", "--writes-per-second", "5")["documents"] > 0

    articles.put(bad, {"not": "a text"})
    articles.wait(bad, status=Status.FAILED)
    file = tmp_path / "dead.jsonl"
    assert run("dead list", bad)["targets"][0]["failed_documents"] == 1
    assert run("dead causes")["causes"][0]["kind"] == "invalid_input"
    assert run("dead show", bad)["remedy"]
    assert run("dead export", bad, "--file", str(file))["documents"] == 1
    assert run("dead redrive", bad, "--dry-run")["documents"] == 1
    assert run("dead requeue", bad)["sent"] == 1
    articles.wait(bad, status=Status.FAILED)
    assert run("retry", bad, "--at", "2h")["scheduled"] == 1
    assert run("dead purge", str(file), "--reason", "done", "--yes")["rows"] == 0
    assert run("delete", bad)["document"] == bad
    assert run("delete", name)["document"] == name
    assert run("forget", "--target", "gone", "--yes")["rows"] == 0
    assert run("pause", "--reason", "a test")["state"] == "paused"
    assert "paused" in run("stats")["targets"][0]["lanes"]["stopped"][0]
    run("resume", "--reason", "done")
    assert run("actions", "--most", "1")["actions"][0]["command"] == "resume"
    run("completion", "bash")


def test_parts_are_broken_and_repaired_by_commands(
    articles: Articles,
    stack: LocalStack,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer_of: Run,
) -> None:
    """R40 R81: provider and index fail for a time or until told; nothing is lost."""
    fault = IndexFault(tmp_path, stack.opensearch_url)
    parts = Provider(stack.model_origin), fault
    monkeypatch.setattr(breaking, "parts_here", lambda: parts)
    name, bad = articles.new_name(), articles.new_name("bad")
    assert answer_of("break show") == {"faults": []}

    answer_of("break provider", "503", "--for", "600")
    answer_of("poison", "xyzzy")
    [poisoned, down, index] = answer_of("break index", "--for", "600")["faults"]

    assert poisoned["what"] == "rejects every text with 'xyzzy'"
    assert (down["what"], down["left_seconds"] <= 600) == ("answers 503 to everything", True)
    assert (index["part"], index["left_seconds"] <= 600) == ("index", True)
    failed = {one.part for one in health(articles.deployment).checks if one.state == "failed"}
    assert failed == {"provider of default", "index of default"}

    # As the stack does it when the time is over.
    IndexFault(tmp_path, stack.opensearch_url, clock=lambda: time.time() + 600).end_if_due()
    articles.break_provider(Fault(FaultKind.POISON, marker="xyzzy"))
    articles.indexed(name, "hello")
    articles.put(bad, "hello xyzzy")
    articles.wait(bad, status=Status.FAILED)
    articles.take_dead_letters(1)
    assert answer_of("break end") == {"faults": []}
    articles.put(bad, "hello again xyzzy")
    articles.wait(bad)


def test_wait_ends_when_the_last_write_is_found_and_not_before(
    articles: Articles, stack: LocalStack
) -> None:
    """R40 R51: the old text is found, and that is not enough; a delete is waited for too."""
    name = articles.new_name()
    articles.indexed(name, "first")
    with disabled(stack, articles, "normal"):
        articles.put(name, "second")
        with pytest.raises(CommandError, match="cannot be found after 1 s: in default it is "):
            wait(articles.deployment, name, seconds=1)

    assert wait(articles.deployment, name).found
    assert (articles.text(name) or "").endswith("second")
    articles.delete(name)
    assert not wait(articles.deployment, name).found
    with pytest.raises(UsageError, match="nor the ledger has 'nobody'"):
        wait(articles.deployment, "nobody")
    with pytest.raises(UsageError, match=f"name the document alone: '{name}'"):
        read_row(articles.deployment, f"default/articles/{name}", source=None, target=None)


def test_document_is_embedded_here_while_no_lane_works(
    articles: Articles, stack: LocalStack
) -> None:
    """R47: under a version of its own, in ledger and index; the lane's task is superseded."""
    name = articles.new_name()
    with disabled(stack, articles, "normal"):
        articles.put(name, "hello")
        [waiting] = articles.wait(name, status=Status.PENDING)

        answer = embed(articles.deployment, name).act()

        assert (answer.status, answer.exit_code) == ("completed", 0)
        assert answer.version > waiting.task.version
        assert (articles.text(name) or "").endswith("hello")
    articles.wait(name, above=waiting.task.version)


def test_document_that_fails_here_is_left_to_the_sweep(articles: Articles) -> None:
    """R47 R31: exit code 1, and nothing is lost."""
    name = articles.new_name()
    before = articles.indexed(name, "first").task.version
    articles.break_provider(DOWN)
    articles.put(name, "second")

    answer = embed(articles.deployment, name).act()

    assert answer.exit_code == 1
    assert "503" in (answer.error or "")
    articles.break_provider()
    articles.wait(name, above=before)
    assert (articles.text(name) or "").endswith("second")


def test_health_names_the_part_that_is_down(articles: Articles) -> None:
    """R40: the provider, what it answered, and what to do."""
    articles.break_provider(DOWN)

    answer = health(articles.deployment)

    [down] = [one for one in answer.checks if one.state == "failed"]
    assert (down.part, answer.exit_code) == ("provider of default", 1)
    assert "503" in down.detail
    assert down.remedy


def test_statistics_count_each_document_once(articles: Articles, stack: LocalStack) -> None:
    """R40: one that is searchable and open at once, and one that is only open."""
    name, other = articles.new_name(), articles.new_name()
    [before] = stats(articles.deployment).targets
    articles.indexed(name, "first")
    with disabled(stack, articles, "normal"):
        articles.put(name, "second")
        articles.put(other, "new")
        articles.wait(name, other, status=Status.PENDING)

        [found] = stats(articles.deployment).targets
        assert before.unique is not None
        assert found.unique == before.unique + 2
        assert (found.open, found.oldest_waiting is not None) == (before.open + 2, True)
        assert found.last_hour is not None
        assert found.last_hour.indexed >= 1
        states = {one.lane: one.mapping for one in lanes(articles.deployment).targets[0].lanes}
        assert states["normal"] != "Enabled"
    articles.wait(name, other)
