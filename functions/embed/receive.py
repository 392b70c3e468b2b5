"""Messages -> jobs: parsed, only the newest of each document, checked against the ledger."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from functions.core.announcement import Announcements
from functions.core.ports import Clock, Ledger, Message, Telemetry
from functions.core.retry_policy import RetrySettings
from functions.core.swap import Rows, swap_until_settled
from functions.core.task import MalformedTaskError, Task, parse_task
from functions.embed.admit import Admission, Verdict, admit
from functions.embed.job import Job, Received, Returned

if TYPE_CHECKING:
    from functions.core.identity import RowKey


@dataclass(frozen=True)
class Admitted:
    """The messages of a round, by what is to be done with them."""

    jobs: list[Job] = field(default_factory=list)
    suspects: list[Received] = field(default_factory=list)  # each to be admitted again, alone
    returned: list[Returned] = field(default_factory=list)


@dataclass(frozen=True)
class Receive:
    """The step with its dependencies."""

    ledger: Ledger
    announcements: Announcements
    telemetry: Telemetry
    clock: Clock
    jitter: Callable[[], float]
    retry: RetrySettings
    target: str
    sources: frozenset[str]

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
                self._log(Verdict.SUPERSEDED, one.task)
        return list(newest.values())

    def admit(self, received: Sequence[Received], *, run_seconds: float) -> Admitted:
        """Mark in the ledger what is worked now, and sort out what is not."""
        by_key = {one.task.row_key: one for one in received}

        def decide(rows: Rows) -> dict["RowKey", Admission]:
            admissions = {
                key: admit(
                    by_key[key].task,
                    by_key[key].message,
                    row,
                    retry=self.retry,
                    run_seconds=run_seconds,
                    now_ms=self.clock(),
                )
                for key, row in rows.items()
            }
            for key in self.announcements.refused(one.row for one in admissions.values()):
                admissions[key] = Admission(Verdict.NOT_ANNOUNCED)
            return admissions

        admitted = Admitted()
        rows: Rows = {**dict.fromkeys(by_key), **self.ledger.read(by_key)}
        for key, admission, row in swap_until_settled(self.ledger, rows, decide):
            one = by_key[key]
            self._log(admission.verdict, one.task)
            match admission.verdict:
                case Verdict.WORK if row is not None:
                    admitted.jobs.append(Job(one.message, one.task, row))
                case Verdict.SUSPECT:
                    admitted.suspects.append(one)
                case Verdict.DEAD:
                    admitted.returned.append(Returned(one.message, 0))
                case Verdict.NOT_ANNOUNCED:
                    admitted.returned.append(Returned.later(one.message, jitter=self.jitter()))
        return admitted

    def _task(self, message: Message) -> Task:
        task = parse_task(message.body)
        if task.target != self.target or task.source not in self.sources:
            raise MalformedTaskError(
                f"it is for target {task.target} and source {task.source}, not known here"
            )
        return task

    def _log(self, verdict: Verdict, task: Task) -> None:
        self.telemetry.event(str(verdict), **task.log_fields())
        if verdict is Verdict.SUPERSEDED:
            self.telemetry.count("TasksSuperseded")
