"""Messages -> jobs: parsed, only the newest of each document, checked against the ledger."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from functions.core.ledger_row import LedgerRow
from functions.core.next_step import later_seconds
from functions.core.ports import Clock, Ledger, Message, Telemetry
from functions.core.retry_policy import RetrySettings
from functions.core.task import MalformedTaskError, Task, parse_task
from functions.embed.admit import Admission, Verdict, admit
from functions.embed.job import Job

if TYPE_CHECKING:
    from functions.core.identity import RowKey


@dataclass(frozen=True)
class Received:
    """A message that is a task of ours."""

    message: Message
    task: Task


@dataclass(frozen=True)
class Returned:
    """A message that goes back to its queue, to come again after so many seconds."""

    message: Message
    seconds: float


@dataclass(frozen=True)
class Admitted:
    """The messages of a round, by what is to be done with them."""

    jobs: list[Job] = field(default_factory=list)
    suspects: list[Received] = field(default_factory=list)  # each to be admitted again, alone
    dead: list[Returned] = field(default_factory=list)  # or about to be


@dataclass(frozen=True)
class Intake:
    """The step with its boxes."""

    ledger: Ledger
    telemetry: Telemetry
    clock: Clock
    retry: RetrySettings
    target: str
    sources: frozenset[str]
    announce: Callable[[Sequence[LedgerRow]], list["RowKey"]]

    def parse(self, messages: Sequence[Message]) -> tuple[list[Received], list[Returned]]:
        """Read the tasks; what is not ours goes back until SQS moves it to the dead letters."""
        received: list[Received] = []
        foreign: list[Returned] = []
        for message in messages:
            try:
                received.append(Received(message, self._task(message)))
            except MalformedTaskError as error:
                foreign.append(Returned(message, 0))
                if message.receive_count == 1:
                    self.telemetry.count("MessagesMalformed")
                    self.telemetry.event(
                        "message_malformed", message_id=message.message_id, reason=str(error)
                    )
        return received, foreign

    def newest(self, received: Sequence[Received]) -> list[Received]:
        """Keep one message of each document; older ones and copies need no work of their own."""
        newest: dict[RowKey, Received] = {}
        for one in received:
            other = newest.get(one.task.row_key)
            if other is None or one.task.version > other.task.version:
                newest[one.task.row_key] = one
        kept = set(map(id, newest.values()))
        for one in received:
            if id(one) not in kept:
                self._note(Verdict.SUPERSEDED, one.task)
        return list(newest.values())

    def admit(self, received: Sequence[Received], *, run_seconds: float) -> Admitted:
        """Mark in the ledger what is worked now, and tell it from what is not."""
        waiting = {one.task.row_key: one for one in received}
        rows: dict[RowKey, LedgerRow | None] = dict.fromkeys(waiting)
        rows.update(self.ledger.read(waiting))
        admitted = Admitted()
        while waiting:
            admissions = {
                key: self._admit(one, rows[key], run_seconds) for key, one in waiting.items()
            }
            for key in self.announce([a.row for a in admissions.values() if a.row is not None]):
                # Not closed before it is told: the message comes again.
                message = waiting.pop(key).message
                delay = later_seconds(message.receive_count)
                admitted.dead.append(Returned(message, delay))
                del admissions[key]
            swapped = self.ledger.write([a.row for a in admissions.values() if a.row is not None])
            for key, admission in admissions.items():
                if key in swapped.lost:
                    continue
                one = waiting.pop(key)
                self._note(admission.verdict, one.task)
                if admission.verdict is Verdict.WORK:
                    admitted.jobs.append(Job(one.message, one.task, swapped.stored[key]))
                elif admission.verdict is Verdict.SUSPECT:
                    admitted.suspects.append(one)
                elif admission.verdict is Verdict.DEAD:
                    admitted.dead.append(Returned(one.message, 0))
            # Another writer was faster: look again at what stands there now.
            rows = dict(swapped.lost)
        return admitted

    def _task(self, message: Message) -> Task:
        task = parse_task(message.body)
        if task.target != self.target or task.source not in self.sources:
            raise MalformedTaskError(
                f"it is for target {task.target} and source {task.source}, not known here"
            )
        return task

    def _admit(self, one: Received, row: LedgerRow | None, run_seconds: float) -> Admission:
        return admit(
            one.task,
            one.message,
            row,
            retry=self.retry,
            run_seconds=run_seconds,
            now_ms=self.clock(),
        )

    def _note(self, verdict: Verdict, task: Task) -> None:
        self.telemetry.event(str(verdict), **task.log_fields())
        if verdict is Verdict.SUPERSEDED:
            self.telemetry.count("TasksSuperseded")
