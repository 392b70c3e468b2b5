"""A model is changed, or an index is built anew, while an application writes and searches.

A table is filled, and its index with it. Then the stage gets a second target that replaces the
first, as by a deployment. Under a constant load of writes (new, edited and deleted documents) and
of searches the new target is filled, searches are switched to it, rolled back and switched again.
No search may fail, or be answered by vectors of another model than its own; no write may be lost;
the rollback takes less than a second; and where the model stays, no text is paid again. Exit code 1
if not.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.load import BATCH_WRITE_LIMIT, percentile
from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.backfill_job import JobState
from functions.core.batches import batches
from functions.core.failure import FailureError
from functions.core.identity import DocumentId, row_key
from functions.core.ledger_row import Group, LedgerRow
from functions.core.names import first_index
from functions.core.search import SearchAnswer
from local.provider.vectors import HashedVectors
from local.stack import LocalStack, local_stack
from local.stages import with_successor
from local.template.stage import LocalModel
from ops import migrating, searching
from ops.deployment import Deployment
from ops.migration import migration_of
from ops.migration_answers import Switched
from ops.output import Answer, CommandError
from ops.proposal import Proposal, carry_out
from ops.stack import local_deployment
from ops.verification import verify

Change = Literal["model", "structure"]
CHANGES: dict[Change, dict[str, Any]] = {
    "model": {"model": "text-embedding-3-large"},
    "structure": {"compression": "4x", "shards": 2},
}
# The new model is the better one: the gate would refuse a worse one.
MODEL = LocalModel("text-embedding-3-small", 64, 96)
OLD, NEW = "default", "next"
WORDS = 30
LOOK_SECONDS = 1.0
STALL_SECONDS = 600.0
# Each tenth document is written to while the migration runs; the others are searched for.
WRITTEN_TO = 10
ROLLBACK_SECONDS = 1.0
# Compressed vectors are a little off.
SCORE_DIFFERENCE = 0.02
SETTLED_SEARCHES = 20
# In per cent. The writes of the last seconds are on their way to one index or the other.
LEAST_COVERAGE = 99.5


class StalledError(Exception):
    """Nothing moved for a long time."""


@dataclass
class Writes:
    """An application that writes at a steady rate, and what its table holds."""

    deployment: Deployment
    per_second: float
    names: Sequence[str]
    count: int = 0

    def go_on_until(self, is_over: threading.Event) -> None:
        """Write new documents, edit old ones and delete some."""
        client = self.deployment.client("dynamodb")
        table = self.deployment.source(None).table
        chance = random.Random(2)
        began = time.monotonic()
        while not is_over.is_set():
            name = f"live-{self.count:06}" if chance.random() < 0.5 else chance.choice(self.names)
            if chance.random() < 0.1:
                client.delete_item(TableName=table, Key=to_dynamodb({"id": name}))
            else:
                client.put_item(TableName=table, Item=item(name, edition=self.count + 1))
            self.count += 1
            is_over.wait(max(0.0, began + self.count / self.per_second - time.monotonic()))


@dataclass
class Searches:
    """An application that searches without a pause, each time for one document.

    An index that is asked with vectors of another model answers with scores that are not those of
    its own model.
    """

    deployment: Deployment
    names: Sequence[str]
    done: int = 0
    missed: int = 0  # the document was not the first: the search is approximate
    failed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # not of the index's own model
    milliseconds: list[float] = field(default_factory=list)
    # When each index answered first after another one, and which.
    answered: list[tuple[float, str]] = field(default_factory=list)

    def go_on_until(self, is_over: threading.Event) -> None:
        """Ask for one document after the other, as an application does: without a target."""
        chance = random.Random(3)
        while not is_over.is_set():
            name = chance.choice(self.names)
            began = time.monotonic()
            try:
                answer = searching.ask(self.deployment, query=_text(name), mode="knn", size=3)
            except CommandError as error:
                self.failed.append(error.message)
                continue
            self.milliseconds.append(1000 * (time.monotonic() - began))
            self.done += 1
            self.missed += not answer.results or answer.results[0].document != name
            if answer.notes or not self._is_own(answer, _text(name)):
                self.wrong.append(f"{answer.index} for {name}: {answer}")
            if not self.answered or self.answered[-1][1] != answer.index:
                self.answered.append((time.monotonic(), answer.index))

    def _is_own(self, answer: SearchAnswer, asked: str) -> bool:
        """Compare the scores with those of the model that the index is filled by."""
        [dimensions] = [
            target.dimensions
            for target in self.deployment.targets.values()
            if first_index(target.index) == answer.index
        ]
        found = [one.passage.text for one in answer.results]
        [question, *passages] = HashedVectors().embed([asked, *found], dimensions)
        own = [(1 + float(question @ passage)) / 2 for passage in passages]
        given = [one.score for one in answer.results]
        return bool(given) and np.allclose(given, own, rtol=0, atol=SCORE_DIFFERENCE)


@dataclass(frozen=True)
class Figures:
    """What a run came to."""

    change: Change
    documents: int
    writes: int
    searches: int
    missed: int
    failed: Sequence[str]
    wrong: Sequence[str]
    p95_ms: float
    backfill_seconds: float
    gate: Sequence[str]
    rollback_seconds: float
    back_seconds: float
    answered: Sequence[str]
    tokens: int
    differences: int

    def mistakes(self) -> Iterator[str]:
        """Name everything that must not be."""
        if self.failed:
            yield f"{len(self.failed)} searches failed, such as: {self.failed[0]}"
        if self.wrong:
            yield f"{len(self.wrong)} answers of another model, such as: {self.wrong[0]}"
        if max(self.rollback_seconds, self.back_seconds) > ROLLBACK_SECONDS:
            yield "the rollback took longer than a second"
        if self.differences:
            yield f"{self.differences} documents of table and indexes differ"
        if self.change == "structure" and self.tokens:
            yield f"{self.tokens:,} tokens were paid again"
        if self.change == "model" and not self.tokens:
            yield "the new model was not asked"

    def lines(self) -> Iterator[str]:
        """Write the figures for people."""
        yield f"{self.documents:,} documents, another {self.change}"
        yield f"  load        {self.writes:,} writes, {self.searches:,} searches, p95"
        yield f"              {self.p95_ms:.0f} ms"
        yield f"  failed      {len(self.failed)} searches; {len(self.wrong)} of another model"
        yield f"  missed      {self.missed} documents were not the first: approximate search"
        yield f"  backfill    {self.backfill_seconds:.0f} s, {self.tokens:,} tokens for documents"
        yield "              that no write touched"
        yield from (f"  {line}" for line in self.gate)
        yield f"  rollback    {self.rollback_seconds:.2f} s; the old index answered a search"
        yield f"              {self.back_seconds:.2f} s after it was asked for"
        yield f"  answered by {' -> '.join(self.answered)}"
        yield f"  differences {self.differences} between the table and both indexes"
        yield from (f"WRONG: {one}" for one in self.mistakes())


def fill(stack: LocalStack, documents: int) -> list[str]:
    """Write the documents of a table that is searched already."""
    deployment = local_deployment(stack.endpoint_url)
    names = [f"old-{number:06}" for number in range(documents)]
    client, table = deployment.client("dynamodb"), deployment.source(None).table
    for part in batches(names, BATCH_WRITE_LIMIT):
        left: Any = {table: [{"PutRequest": {"Item": item(name, lane="low")}} for name in part]}
        while left:
            left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]
    target = deployment.target(None).name
    _until(
        lambda: _searchable(deployment, target),
        lambda found: found >= documents,
        "documents in the old index",
    )
    return names


def migrate(stack: LocalStack, names: Sequence[str], change: Change, chosen: Any) -> Figures:
    """Carry a migration through under load, as an operator does."""
    deployment = local_deployment(stack.endpoint_url)
    migration = migration_of(deployment, None)
    touched = names[::WRITTEN_TO]
    stable = [name for number, name in enumerate(names) if number % WRITTEN_TO]
    writes = Writes(deployment, chosen.writes, touched)
    searches = [Searches(deployment, stable) for _ in range(chosen.searchers)]
    is_over = threading.Event()
    work = [writes.go_on_until, *(one.go_on_until for one in searches)]
    threads = [threading.Thread(target=one, args=(is_over,)) for one in work]
    for thread in threads:
        thread.start()
    try:
        began = time.monotonic()
        _do(deployment, migrating.start(deployment, reason="benchmark"))
        _until(
            lambda: migration.coverage().percent,
            lambda percent: percent >= LEAST_COVERAGE,
            "per cent covered",
        )
        backfill_seconds = time.monotonic() - began
        _until(
            lambda: sum(job.state is JobState.RUNNING for job in migrating.status(deployment).jobs),
            lambda running: running == 0,
            "backfills running",
        )
        _do(deployment, _switch(deployment, chosen.questions))
        _settled(searches, first_index(migration.new.index))
        began = time.monotonic()
        _do(deployment, migrating.rollback(deployment))
        rollback_seconds = time.monotonic() - began
        _settled(searches, first_index(migration.old.index))
        back = min(
            at
            for one in searches
            for at, index in one.answered
            if at > began and index == first_index(migration.old.index)
        )
        _do(deployment, _switch(deployment, 10))
        _settled(searches, first_index(migration.new.index))
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    _until_idle(deployment)
    _do(deployment, migrating.finish(deployment))
    gate = migrating.status(deployment).gate
    return Figures(
        change=change,
        documents=len(names),
        writes=writes.count,
        searches=sum(one.done for one in searches),
        missed=sum(one.missed for one in searches),
        failed=[line for one in searches for line in one.failed],
        wrong=[line for one in searches for line in one.wrong],
        p95_ms=percentile([number for one in searches for number in one.milliseconds], 95),
        backfill_seconds=backfill_seconds,
        gate=[str(line) for line in gate.view()] if gate else [],
        rollback_seconds=rollback_seconds,
        back_seconds=back - began,
        answered=[index for _, index in searches[0].answered],
        tokens=sum(row.indexed.tokens for row in _rows(deployment, stable)),
        differences=sum(verify(deployment).counts.values()),
    )


def _switch(deployment: Deployment, questions: int) -> Proposal[Switched]:
    # Whole texts: of some made-up words no model knows what they mean.
    return migrating.switch(
        deployment,
        reason="benchmark",
        questions=questions,
        taken="sentence",
        least_coverage=LEAST_COVERAGE,
    )


def _do(deployment: Deployment, proposal: Proposal[Any]) -> Answer:
    done: Answer = carry_out(
        deployment, "migrate", proposal, reason="benchmark", dry_run=False, yes=True
    )
    for line in done.view():
        _say(f"  {line}")
    return done


def _settled(searches: Sequence[Searches], index: str) -> None:
    """Wait until each searcher has been answered by an index, and some more times."""
    wanted = [one.done + SETTLED_SEARCHES for one in searches]
    _until(
        lambda: sum(
            one.answered[-1][1] == index and one.done >= least
            for one, least in zip(searches, wanted, strict=True)
        ),
        lambda settled: settled == len(searches),
        f"of {len(searches)} searchers are answered by {index}",
    )


def _until(look: Callable[[], float], is_good: Callable[[float], bool], what: str) -> None:
    """Wait until a number is good, and say how it moves."""
    last, since = None, time.monotonic()
    while (found := _seen(look)) is None or not is_good(found):
        if found not in (last, None):
            last, since = found, time.monotonic()
            _say(f"  {found:,.6g} {what}")
        elif time.monotonic() - since > STALL_SECONDS:
            raise StalledError(f"it stays at {last} {what}")
        time.sleep(LOOK_SECONDS)


def _seen(look: Callable[[], float]) -> float | None:
    """Look; an index that is too busy to answer is asked again."""
    try:
        return look()
    except FailureError:
        return None


def _until_idle(deployment: Deployment) -> None:
    groups = [Group.OPEN, Group.PARKED]
    _until(
        lambda: sum(1 for _ in deployment.listed(groups)), lambda left: left == 0, "documents open"
    )


def _searchable(deployment: Deployment, target: str) -> int:
    deployment.ask_index(target, "_refresh")
    return deployment.count_searchable(target)


def _rows(deployment: Deployment, names: Sequence[str]) -> list[LedgerRow]:
    source = deployment.source(None).name
    keys = [row_key(NEW, source, DocumentId(name)) for name in names]
    return list(deployment.ledger.read(keys).values())


def _text(name: str, edition: int = 0) -> str:
    words = random.Random(f"{name} {edition}")
    return " ".join(f"word{words.randrange(20_000)}" for _ in range(WORDS))


def item(name: str, *, edition: int = 0, lane: str = "normal") -> dict[str, Any]:
    """Make an item of the table; each edition has another text."""
    text = _text(name, edition)
    return to_dynamodb({"id": name, "title": name, "body": text, "priority": lane})


def run(change: Change, chosen: Any) -> Figures:
    """Run on a stack of its own, which is started twice: the second time with the new target."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # OpenSearch runs as a user of its own.
        folder.chmod(0o755)
        data = folder / "stack"
        with local_stack(data, log=_say, vectors="hashed", model=MODEL) as stack:
            names = fill(stack, chosen.documents)
        _say(f"{len(names):,} documents in the index; now the second target is deployed")
        after = with_successor(folder / "after.json", NEW, CHANGES[change])
        with local_stack(data, log=_say, stage=after, vectors="hashed", model=MODEL) as stack:
            return migrate(stack, names, change, chosen)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one migration or both; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.migration", description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--change", choices=CHANGES, default="model")
    parser.add_argument("--writes", type=float, default=5.0, help="a second")
    parser.add_argument("--searchers", type=int, default=2, help="at once")
    parser.add_argument("--questions", type=int, default=100, help="of the gate")
    chosen = parser.parse_args(arguments)
    figures = run(chosen.change, chosen)
    for line in figures.lines():
        _say(line)
    return 1 if list(figures.mistakes()) else 0


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
