"""Messages -> jobs: parsed, only the newest of each document, checked against the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from functions.core.announcement import is_announced
from functions.core.batches import batches
from functions.core.closing import announce_standing, close_rows
from functions.core.ledger_row import LedgerRow, Quarantine
from functions.core.ports import Message, UnreadableRowsError
from functions.core.swap import Rows
from functions.core.task import MalformedTaskError, Task, parse_task
from functions.embed.admit import (
    Admission,
    Terms,
    Verdict,
    admit,
    crashes_of,
    is_late,
    quarantine_of,
)
from functions.embed.job import Job, Received, Returned
from functions.embed.run_time import RunTime
from functions.embed.tools import Tools

if TYPE_CHECKING:
    from functions.core.identity import RowKey


WORKED = (Verdict.WORK, Verdict.SUSPECT)
OVER = (Verdict.SUPERSEDED, Verdict.DONE)
# Versions follow the clocks of the workers.
AHEAD_MS = 24 * 3_600_000
# BatchGetItem's limit: one read of the source per round.
ROUND_DOCUMENTS = 100


@dataclass(frozen=True)
class Round:
    """Tasks that are worked together, and the rows that were read for them."""

    quarantine: Quarantine
    received: Sequence[Received]
    rows: "Mapping[RowKey, LedgerRow | None]"
    is_late: bool = False  # SQS will soon move its messages: all of them are parked, or over


@dataclass(frozen=True)
class Admitted:
    """The messages of a round: to be worked, or to be returned; the others are acknowledged."""

    jobs: list[Job] = field(default_factory=list)
    returned: list[Returned] = field(default_factory=list)


@dataclass(frozen=True)
class Receive:
    """The step with its dependencies."""

    tools: Tools
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
                    self.tools.telemetry.count("MessagesMalformed")
                    self.tools.telemetry.event(
                        "message_malformed", message_id=message.message_id, reason=str(error)
                    )
        return received, foreign

    def newest(self, received: Sequence[Received]) -> list[Received]:
        """Keep one message of each document; older ones and copies need no work of their own."""
        newest: dict[RowKey, Received] = {}
        for one in received:
            other = newest.get(one.task.row_key)
            # Of two copies the one that was sent last: it may be a redriven one.
            if other is None or _age(one) > _age(other):
                newest[one.task.row_key] = one
        kept = set(map(id, newest.values()))
        for one in received:
            if id(one) not in kept:
                self._log(Verdict.SUPERSEDED, one.task)
                if is_late(one.message):
                    self.tools.queue.acknowledge(one.message)
        return list(newest.values())

    def rounds(self, received: Sequence[Received]) -> tuple[list[Round], list[Returned]]:
        """Read the rows, and put those together that are worked together.

        A task whose row newer code wrote goes back, until that code is there again.
        Suspects come first, as they would starve behind the others; those that are worked alone
        come last, as one of them may end the run. Before all come suspects that SQS will soon
        move: they are only parked, and a crash of this run may be the last that they can bear.
        """
        by_key = {one.task.row_key: one for one in received}
        returned: list[Returned] = []
        try:
            rows = self.tools.ledger.read(by_key)
        except UnreadableRowsError as error:
            rows, returned = error.rows, self._unreadable(error, by_key)
            received = [one for key, one in by_key.items() if key not in error.keys]
        late: dict[Quarantine, list[Received]] = {level: [] for level in Quarantine}
        others: dict[Quarantine, list[Received]] = {level: [] for level in Quarantine}
        for one in received:
            level = quarantine_of(one.message, rows.get(one.task.row_key))
            (late if level and is_late(one.message) else others)[level].append(one)

        others[Quarantine.ALONE].sort(key=lambda one: crashes_of(rows[one.task.row_key]))
        rounds = [
            Round(
                level,
                some,
                {one.task.row_key: rows.get(one.task.row_key) for one in some},
                is_late=part is late,
            )
            for part, level, most in (
                (late, Quarantine.GROUP, ROUND_DOCUMENTS),
                (late, Quarantine.ALONE, ROUND_DOCUMENTS),
                (others, Quarantine.GROUP, ROUND_DOCUMENTS),
                (others, Quarantine.NONE, ROUND_DOCUMENTS),
                (others, Quarantine.ALONE, 1),
            )
            for some in batches(part[level], most)
        ]
        return rounds, returned

    def _unreadable(
        self, error: UnreadableRowsError, by_key: "Mapping[RowKey, Received]"
    ) -> list[Returned]:
        """Send back the messages whose rows newer code wrote."""
        why, tasks = error.failure.message, len(error.keys)
        self.tools.telemetry.event("round_failed", failure=why, tasks=tasks)
        return [
            Returned.later(by_key[key].message, jitter=self.tools.jitter()) for key in error.keys
        ]

    def admit(self, round_: Round, time: RunTime) -> Admitted:
        """Mark in the ledger what is worked now, and sort out what is not."""
        by_key = {one.task.row_key: one for one in round_.received}

        def decide(rows: Rows) -> dict["RowKey", Admission]:
            terms = Terms(
                retry=self.tools.target.retry,
                quarantine=round_.quarantine,
                has_time=time.has_a_round,
                over_seconds=time.crash_noticed_seconds,
                now_ms=self.tools.clock(),
            )
            return {
                key: admit(by_key[key].task, by_key[key].message, row, terms)
                for key, row in rows.items()
            }

        admitted = Admitted()
        closing = close_rows(
            self.tools.ledger,
            self.tools.announcements,
            round_.rows,
            decide,
            refused=lambda _: Admission(Verdict.NOT_ANNOUNCED),
        )
        try:
            for key, admission, row in closing:
                message, task = by_key[key].message, by_key[key].task
                verdict = self._announced_again(admission.verdict, message, row)
                self._log(verdict, task)
                if verdict in WORKED and row is not None:
                    admitted.jobs.append(Job(message, task, row))
                elif (returned := self._returned(verdict, message, time)) is not None:
                    admitted.returned.append(returned)
        except UnreadableRowsError as error:
            admitted.returned.extend(self._unreadable(error, by_key))
        return admitted

    def _announced_again(
        self, verdict: Verdict, message: Message, row: LedgerRow | None
    ) -> Verdict:
        """Announce the end that stands: a crashed run with this message may have sent another."""
        is_over = row is not None and verdict in OVER and is_announced(row)
        if row is None or not is_over or message.receive_count == 1:
            return verdict
        is_sent = announce_standing(self.tools.ledger, self.tools.announcements, row)
        return verdict if is_sent else Verdict.NOT_ANNOUNCED

    def _returned(self, verdict: Verdict, message: Message, time: RunTime) -> Returned | None:
        retry, jitter = self.tools.target.retry, self.tools.jitter()
        match verdict:
            case Verdict.IN_WORK:
                return Returned(message, time.crash_noticed_seconds)
            case Verdict.POSTPONED:
                return Returned.soon(message, retry, jitter=jitter)
            case Verdict.NOT_ANNOUNCED:
                return Returned.later(message, jitter=jitter)
            case Verdict.DEAD:
                return Returned(message, 0)
            case _:
                return None

    def _task(self, message: Message) -> Task:
        task = parse_task(message.body)
        if task.target != self.tools.target.name or task.source not in self.sources:
            raise MalformedTaskError(
                f"it is for target {task.target} and source {task.source}, not known here"
            )
        if task.version > self.tools.clock() + AHEAD_MS:
            # A forged one must not push a real one aside.
            raise MalformedTaskError("its version is more than a day ahead of the clock")
        return task

    def _log(self, verdict: Verdict, task: Task) -> None:
        self.tools.telemetry.event(str(verdict), **task.log_fields())
        if verdict is Verdict.SUPERSEDED:
            self.tools.telemetry.count("TasksSuperseded")


def _age(received: Received) -> tuple[int, int]:
    return received.task.version, received.message.sent_ms
