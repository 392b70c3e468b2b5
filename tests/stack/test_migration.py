"""docs/migration.md on the real engines, command by command, while an application searches."""

import json
import re
import shlex
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchmarks.migration import CHANGES, MODEL, NEW, OLD, Searches, Writes, item
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.core.identity import DocumentId, row_key
from local import background
from local.specs import StackSpec
from local.stack import LocalStack, local_stack
from local.stages import with_successor
from ops import commands_doc, frame, searching
from ops.cli import main
from ops.deployment import Deployment
from ops.migration import migration_of
from ops.stack import local_deployment
from ops.verification import differences
from tests.repo.checkout import ROOT
from tests.waiting import until

PAGE = (ROOT / "docs/migration.md").read_text()
DOCUMENTS = 40
# Whole texts, which no compression of so few vectors confuses. Of so few documents, one that is on
# its way to an index is more than a thousandth.
SMALL_GATE = ["--questions", "10", "--taken", "sentence", "--least-coverage", "80"]

Run = Callable[..., Any]


def commands(part: str) -> list[list[str]]:
    """Return the commands of a block of the page, without their first word."""
    [block] = re.findall(rf"<!-- commands: {part} -->\n *```\n(.*?)```", PAGE, re.DOTALL)
    return [shlex.split(line)[1:] for line in block.splitlines() if line.strip()]


def _late(spec: StackSpec) -> StackSpec:
    """Leave what is in the table to backfills: the stream is read from its end."""
    late = [replace(one, starting_position="LATEST") for one in spec.stream_mappings]
    return replace(spec, stream_mappings=[replace(one, enabled=False) for one in late])


@pytest.fixture(params=["model", "structure"])
def migrating(request: pytest.FixtureRequest) -> Iterator[tuple[str, LocalStack]]:
    """Run a stage whose second target has just been deployed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        after = with_successor(folder / "after.json", NEW, CHANGES[request.param])
        with local_stack(
            folder / "stack",
            log=lambda _: None,
            stage=after,
            vectors="hashed",
            model=MODEL,
            in_memory=True,
            short_lived=True,
            change=_late,
        ) as stack:
            yield request.param, stack


@pytest.fixture
def run(
    migrating: tuple[str, LocalStack],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Return how to run a command with --json; its answer is checked against its schema."""
    deployment = local_deployment(migrating[1].endpoint_url)
    monkeypatch.setattr(frame, "connect", lambda *_: deployment)
    monkeypatch.setattr(background, "folders", list)
    schemas = commands_doc.schemas()

    def run(words: list[str], code: int = 0) -> Any:
        assert main([*words, "--json"]) == code
        out = capsys.readouterr().out
        if code:
            return None
        named = " ".join(words[:2])
        known = schemas["commands"][named if named in schemas["commands"] else words[0]]
        answer = json.loads(out)
        Draft202012Validator({**known, "$defs": schemas["$defs"]}).validate(answer)
        return answer

    return run


def fill(deployment: Deployment, run: Run) -> list[str]:
    """Fill table and old index, as they were before the new target."""
    names = [f"old-{number:03}" for number in range(DOCUMENTS)]
    for name in names:
        deployment.dynamodb.put_item(TableName=deployment.source(None).table, Item=item(name))
    run(["backfill", "--target", OLD, "--reason", "before", "--yes"])
    until(lambda: deployment.count_searchable(OLD) == DOCUMENTS, "the old index", 300)
    return names


def test_page_is_carried_out_under_load(migrating: tuple[str, LocalStack], run: Run) -> None:
    """R44: no search fails or is answered by another model; refused until all is there."""
    change, stack = migrating
    deployment = local_deployment(stack.endpoint_url)
    names = fill(deployment, run)
    [mapping] = [one.mapping_id for one in stack.spec.stream_mappings]
    stack.runner.set_enabled(mapping, True)
    # The stream is read from where it is now: wait until a write is seen.
    until(lambda: _is_seen(deployment, "first"), "the stream is read", 300)
    run(["migrate", "switch", "--reason", "too early", "--yes"], code=1)
    forced = run(["migrate", "switch", "--reason", "too early", "--force", "--dry-run"])
    # Nothing is on its way to the new index: that it lacks all of them counts.
    assert forced["would"].endswith(", forced")
    early = run(["migrate", "status"])["gate"]
    assert (early["different"] > 0, early["difference"]["mean"] < -0.5) == (True, True)
    run(["migrate", "finish"], code=2)
    migration = migration_of(deployment, None)
    dimensions = MODEL.other_dimensions if change == "model" else MODEL.dimensions
    assert (migration.old.dimensions, migration.new.dimensions) == (MODEL.dimensions, dimensions)
    assert migration.answering() is migration.old
    touched, stable = names[::10], [name for place, name in enumerate(names) if place % 10]
    searches, writes = Searches(deployment, stable), Writes(deployment, 0.5, touched)
    is_over = threading.Event()
    threads = [
        threading.Thread(target=one, args=(is_over,))
        for one in (searches.go_on_until, writes.go_on_until)
    ]
    for thread in threads:
        thread.start()
    try:
        estimate, _, _ = [run(words) for words in commands("fill")]
        until(lambda: not migration.coverage().missing, "all is covered", 300)
        until(lambda: run(["migrate", "status"])["jobs"][0]["state"] == "done", "the job ends", 300)
        words = [
            [*one, *SMALL_GATE] if "switch" in one else one
            for part in ("switch", "rollback")
            for one in commands(part)
        ]
        answered = [run(one).get("answered_by") for one in words]
        assert answered == [None, NEW, OLD, NEW]
        before = searches.done
        until(lambda: searches.done > before + 5, "searches go on")
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    # The last writes are on their way: the command waits for them.
    [finished] = [run(words) for words in commands("finish")]
    assert f'delete "{OLD}" from stages.local.sources.articles.targets' in finished["steps"]
    status = run(["migrate", "status"])
    assert (status["answered_by"], status["gate"]["questions"] > 0) == (NEW, True)
    assert (searches.failed, searches.wrong) == ([], [])
    assert {index for _, index in searches.answered} == {
        f"{migration.old.index}-1",
        f"{migration.new.index}-1",
    }
    assert [run(["actions"])["actions"][0][key] for key in ("command", "result")] == [
        "migrate finish",
        f"nothing of {OLD} is needed any more; to remove it:",
    ]
    paid = sum(
        row.indexed.tokens
        for row in deployment.ledger.read(
            [row_key(NEW, "articles", DocumentId(name)) for name in stable]
        ).values()
    )
    assert (paid > 0) is (change == "model")
    assert (" 0 tokens" in estimate["would"]) is (change == "structure")
    until(lambda: not differences(deployment), "table and indexes agree", 300)
    lose_old_index(stack, migration.old.index, run)
    assert searching.ask(deployment, query="word1", mode="knn").index == f"{migration.new.index}-1"


def lose_old_index(stack: LocalStack, index: str, run: Run) -> None:
    """Go back, lose the index that answers, and let the new one answer all the same."""
    run(["migrate", "rollback"])
    http = OpenSearchHttp(stack.opensearch_url, credentials=None, region="")
    http.call("DELETE", f"{index}-1")
    status = run(["migrate", "status"])
    assert (status["answered_by"], "is lost" in status["not_measured"]) == ("", True)
    run(["migrate", "switch", "--reason", "the index is lost", "--yes"], code=1)
    run(["migrate", "switch", "--reason", "the index is lost", "--yes", "--force"])
    after = run(["migrate", "status"])
    assert (after["answered_by"], after["gate"]) == (NEW, None)


def _is_seen(deployment: Deployment, name: str) -> bool:
    """Write an item, and tell whether one of its writes has reached the ledger."""
    # Another text each time: a write that changes nothing is not in the stream.
    written = item(name, edition=time.monotonic_ns())
    deployment.dynamodb.put_item(TableName=deployment.source(None).table, Item=written)
    return bool(deployment.ledger.read([row_key(OLD, "articles", DocumentId(name))]))
