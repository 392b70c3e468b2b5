"""One document through every part of a deployed stage: the first thing to run in an account."""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from functions.core.identity import row_key
from functions.core.ledger_row import LedgerRow, Status
from ops import searching
from ops.dead_changes import redrive_all
from ops.frame import SOURCE, Noun
from ops.numbers import Count
from ops.output import FAILED, OK, Answer, CommandError, narrate
from ops.proposal import Proposal

if TYPE_CHECKING:
    from ops.deployment import Deployment
    from ops.smoke_items import SmokeItem

NOUN = Noun("State")
PREFIX = "embedq-smoke-"
FIRST = "The lighthouse keeper winds the clock of {name} every evening."
SECOND = "A night train carries the letters of {name} over the pass."
LOOK_SECONDS = 0.5
SEARCHED = 10


class Step(Answer):
    """One step that passed, and what it took."""

    what: str
    seconds: float


class Smoked(Answer):
    """How it ended."""

    table: str
    steps: tuple[Step, ...]
    error: str | None

    @property
    def exit_code(self) -> int:
        return FAILED if self.error else OK

    def view(self) -> Iterable[str]:
        seconds = sum(step.seconds for step in self.steps)
        return [self.error or f"all steps passed in {seconds:.1f} s, and the items are removed"]


@NOUN.change_command(
    SOURCE,
    click.Option(
        ["--seconds"],
        type=Count(min=1),
        default=300,
        show_default=True,
        help="How long each step may take.",
    ),
    asks=True,
    examples=["smoke", "smoke --stage dev", "smoke --stage prod --source articles --yes"],
)
def smoke(
    deployment: "Deployment", *, source: str | None = None, seconds: int = 300
) -> Proposal[Smoked]:
    """Write, search, edit, reject, redrive and delete two items of its own; exit with 1 if a step
    fails.

    It writes to the table of the source and removes its items at the end, also after a failure.
    It costs some hundred tokens. The dead letter that it makes may send an alarm.
    """
    settings = deployment.source(source)
    doing = (
        f"write two items to table {settings.table} of {deployment.place}, with ids that begin"
        f" with {PREFIX} (or numbers), and remove them"
    )
    is_made = settings.table.startswith(f"{deployment.stack_arn.split('/')[1]}-")
    warning = "" if is_made else " This is an existing table: others may use it."
    return Proposal(
        doing,
        documents=2,
        act=lambda: _Smoke(deployment, settings.name, seconds).run(),
        questions=(f"{doing[:1].upper()}{doing[1:]}? One dead letter may send an alarm.{warning}",),
    )


class _Failed(Exception):
    """A step did not end as it should."""


class _Smoke:
    def __init__(self, deployment: "Deployment", source: str, limit_seconds: int) -> None:
        from ops.smoke_items import smoke_item

        self._deployment = deployment
        self._source = deployment.source(source)
        self._limit_seconds = limit_seconds
        self._dynamodb = deployment.client("dynamodb")
        self._steps: list[Step] = []
        types = deployment.key_types(self._source.table)
        number = random.randrange(10**9)
        self._good, self._bad = (
            smoke_item(self._source, types, name=f"{PREFIX}{n}", number=n)
            for n in (number, number + 1)
        )
        self._first_dead = self._dead_letters()

    def run(self) -> Smoked:
        """Run the steps until one fails, and remove the items whatever happens."""
        error = None
        try:
            self._work()
        except (_Failed, CommandError) as failed:
            error = f"smoke failed: {failed}"
            if not self._first_dead and self._dead_letters():
                error += f"; a dead letter of {self._bad.name} is left, which a redrive removes"
        finally:
            # Also after Ctrl-C and after an error of AWS.
            for item in (self._good, self._bad):
                self._dynamodb.delete_item(TableName=self._source.table, Key=item.key)
        return Smoked(table=self._source.table, steps=tuple(self._steps), error=error)

    def _work(self) -> None:
        good, bad = self._good, self._bad
        with self._step(f"write: {good.name} is indexed"):
            self._write(good, good.with_text(_text(FIRST, good)))
        with self._step("search: it is found"):
            self._find(good, _text(FIRST, good))
        with self._step("edit: the new text is found"):
            self._write(good, good.with_text(_text(SECOND, good)))
            self._find(good, _text(SECOND, good))
        if self._first_dead:
            narrate(
                f"dead letter and redrive: left out, as there are {self._first_dead} dead letters"
                " already, which a redrive would move too"
            )
        else:
            with self._step(f"dead letter: {bad.name} is rejected, without a request"):
                self._write(bad, bad.rejected(), status=Status.FAILED)
                self._until(lambda: self._dead_letters() >= len(self._targets), "the dead letter")
            with self._step("redrive: corrected and indexed, and no dead letter is left"):
                self._write(bad, bad.with_text(_text(FIRST, bad)))
                redrive_all(self._deployment)
                self._until(lambda: not self._dead_letters(), "the dead letter's way back")
        with self._step("delete: it is not found any more"):
            self._delete(good)
            self._lose(good, _text(SECOND, good))
            if self._versions(bad):
                self._delete(bad)

    @property
    def _targets(self) -> tuple[str, ...]:
        return self._source.targets

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        except (_Failed, CommandError) as error:
            raise _Failed(f"{what.partition(':')[0]}: {error}") from error
        step = Step(what=what, seconds=round(time.monotonic() - began, 2))
        self._steps.append(step)
        narrate(f"{step.what} ({step.seconds:.1f} s)")

    def _write(
        self, item: "SmokeItem", values: dict[str, object], status: Status = Status.COMPLETED
    ) -> None:
        before = self._versions(item)
        self._dynamodb.put_item(
            TableName=self._source.table,
            Item=values,
            # Of two runs, or with a number as key: no item of another is written over.
            **({} if before else _only_new(self._source.key[0])),
        )
        self._wait(item, status, before)

    def _delete(self, item: "SmokeItem") -> None:
        before = self._versions(item)
        self._dynamodb.delete_item(TableName=self._source.table, Key=item.key)
        self._wait(item, Status.DELETED, before)

    def _wait(self, item: "SmokeItem", status: Status, before: dict[str, int]) -> None:
        def arrived() -> bool:
            rows = self._rows(item)
            return all(
                (row := rows.get(target)) is not None
                and row.status is status
                and row.task.version > before.get(target, 0)
                for target in self._targets
            )

        self._until(arrived, f"{item.name} {status}", lambda: self._state(item))

    def _state(self, item: "SmokeItem") -> str:
        """Say what the ledger knows."""
        rows = self._rows(item)
        return "; ".join(f"target {target}: {_state(rows.get(target))}" for target in self._targets)

    def _rows(self, item: "SmokeItem") -> dict[str, LedgerRow]:
        keys = [row_key(target, self._source.name, item.name) for target in self._targets]
        return {row.task.target: row for row in self._deployment.ledger.read(keys).values()}

    def _versions(self, item: "SmokeItem") -> dict[str, int]:
        return {target: row.task.version for target, row in self._rows(item).items()}

    def _dead_letters(self) -> int:
        return sum(map(self._deployment.count_dead_letters, self._targets))

    def _find(self, item: "SmokeItem", text: str) -> None:
        for target in self._targets:
            if text not in self._found(item, text, target):
                raise _Failed(f"a search for its text in target {target} does not find it")

    def _lose(self, item: "SmokeItem", text: str) -> None:
        for target in self._targets:
            if self._found(item, text, target):
                raise _Failed(f"a search in target {target} still finds it")

    def _found(self, item: "SmokeItem", text: str, target: str) -> str:
        """Return the text that a search finds of the item; nothing if it does not find it."""
        hits = searching.find(self._deployment, text, target=target, most=SEARCHED)
        mine = [hit for hit in hits if hit.document_id == item.name]
        return mine[0].text if mine else ""

    def _until(
        self,
        condition: Callable[[], bool],
        what: str,
        state: Callable[[], str] | None = None,
    ) -> None:
        deadline = time.monotonic() + self._limit_seconds
        while not condition():
            if time.monotonic() > deadline:
                known = f" ({state()})" if state else ""
                raise _Failed(f"not within {self._limit_seconds} s: {what}{known}")
            time.sleep(LOOK_SECONDS)


def _text(template: str, item: "SmokeItem") -> str:
    return template.format(name=item.name)


def _state(row: LedgerRow | None) -> str:
    if row is None:
        return "the ledger does not know it: is the stage enabled, and the stream's mapping?"
    error = f", last error {row.errors[-1].kind}: {row.errors[-1].message}" if row.errors else ""
    return f"{row.status}{error}"


def _only_new(name: str) -> dict[str, object]:
    return {
        "ConditionExpression": "attribute_not_exists(#key)",
        "ExpressionAttributeNames": {"#key": name},
    }
