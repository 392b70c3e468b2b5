"""Endings -> ledger. A row follows its task's version only: a newer change is never touched."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from functions.core.announcement import is_announced
from functions.core.closing import close_rows
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow, Quarantine
from functions.core.swap import Rows
from functions.core.transitions import adopt
from functions.embed.ending import Conclusion, Ending, Failed, Indexed, Removed, Rules, conclude
from functions.embed.job import Job, Received, Returned
from functions.embed.tools import Tools

# Another run, of a newer version or of a copy, has closed the row meanwhile.
OVERTAKEN = Conclusion("task_superseded", "TasksSuperseded")
EVENT_REFUSED = Failure(FailureKind.EVENT_REFUSED, "EventBridge did not take the event of its end")
# With so many documents of one cause in one run, the documents are not the cause.
BULK_DOCUMENTS = 5


@dataclass(frozen=True)
class Ended:
    """A job with its ending, and what follows from it for its row and its message."""

    job: Job
    ending: Ending
    conclusion: Conclusion

    @property
    def row(self) -> LedgerRow | None:
        return self.conclusion.row

    @property
    def is_last_attempt(self) -> bool:
        """Tell whether the document is given up for a failure of this run."""
        is_given_up = self.row is not None and self.row.is_given_up
        return is_given_up and isinstance(self.ending, Failed)


@dataclass(frozen=True)
class Finish:
    """The step with its dependencies."""

    tools: Tools
    completed_row_days: int
    index_uuid: Callable[[], str]
    is_failing: Callable[[], bool]
    failures: Counter[tuple[FailureKind, str]] = field(default_factory=Counter)  # of this run

    def end(self, job: Job, ending: Ending) -> Ended:
        """Decide what follows from an ending."""
        target = self.tools.target
        rules = Rules(
            retry=target.retry,
            model=target.model,
            completed_row_days=self.completed_row_days,
            index_uuid=self.index_uuid(),
            is_failing=self.is_failing(),
            jitter=self.tools.jitter(),
        )
        return Ended(job, ending, conclude(job.row, ending, rules, now_ms=self.tools.clock()))

    def close(self, ended: Sequence[Ended]) -> list[Returned]:
        """Write how each job ended; return the messages that go back."""
        by_key = {one.job.key: one for one in ended}
        waiting = {key: one.job for key, one in by_key.items()}

        def decide(rows: Rows) -> dict[RowKey, Ended]:
            return {key: self._decide(by_key[key], row) for key, row in rows.items()}

        closing = close_rows(
            self.tools.ledger,
            self.tools.announcements,
            {key: job.row for key, job in waiting.items()},
            decide,
            refused=self._not_announced,
        )
        returned: list[Returned] = []
        try:
            for key, one, _ in closing:
                del waiting[key]
                self._log(one)
                if one.conclusion.again_in_seconds is not None:
                    returned.append(Returned(one.job.message, one.conclusion.again_in_seconds))
        except FailureError as error:
            self.tools.telemetry.event("ledger_failed", failure=str(error), tasks=len(waiting))
            # The tasks come again, and find their entries in the index.
            returned += [
                Returned.later(job.message, jitter=self.tools.jitter())
                for job in self._not_sent_anew(list(waiting.values()))
            ]
        return returned

    def _not_announced(self, ended: Ended) -> Ended:
        """Let a task come again: it is not closed, or not over, before an event was sent."""
        if ended.row is not None:
            return self.end(ended.job, Failed(EVENT_REFUSED))
        later = Returned.later(ended.job.message, jitter=self.tools.jitter())
        return replace(ended, conclusion=replace(OVERTAKEN, again_in_seconds=later.seconds))

    def _not_sent_anew(self, jobs: Sequence[Job]) -> list[Job]:
        """Send anew what was worked alone; return the other jobs.

        The row still says that it is worked: with the same message, the next run would take this
        one for crashed, and spend an attempt.
        """
        alone = {job.key for job in jobs if job.row.progress.quarantine is Quarantine.ALONE}
        unsent = self.send_anew(
            [Received(job.message, job.task) for job in jobs if job.key in alone]
        )
        kept = {one.task.row_key for one in unsent}
        return [job for job in jobs if job.key not in alone or job.key in kept]

    def send_anew(self, received: Sequence[Received]) -> list[Received]:
        """Send tasks to their lanes as other messages; return those that were not accepted."""
        copies = [
            replace(one.task, copy=f"{one.message.message_id}/{one.message.receive_count}")
            for one in received
        ]
        unsent = {task.row_key for task in self.tools.queue.send(copies)}
        return [one for one in received if one.task.row_key in unsent]

    def report(self) -> None:
        """Log the failures of a run, one line a cause, and start again."""
        for (kind, message), documents in self.failures.items():
            self.tools.telemetry.count("Failures", documents, kind=str(kind))
            is_bulk = documents >= BULK_DOCUMENTS
            self.tools.telemetry.count("BulkFailures", int(is_bulk))
            self.tools.telemetry.event(
                "failure_bulk" if is_bulk else "failure_isolated",
                failure=str(kind),
                reason=message,
                documents=documents,
            )
        self.failures.clear()

    def _decide(self, ended: Ended, row: LedgerRow | None) -> Ended:
        if row is ended.job.row:
            return ended
        if row is None or row.task.version > ended.job.task.version:
            return replace(ended, conclusion=OVERTAKEN)
        if row.task.version < ended.job.task.version:
            row = adopt(row, ended.job.task)
        # Another copy of the task may have failed; what is in the index is in the index.
        if row.status.is_open or (
            row.status.is_failed and isinstance(ended.ending, Indexed | Removed)
        ):
            return self.end(replace(ended.job, row=row), ended.ending)
        # What another copy has given up goes to the dead letters with this message, too.
        again = 0 if row.is_given_up else None
        return replace(ended, conclusion=replace(OVERTAKEN, again_in_seconds=again))

    def _log(self, ended: Ended) -> None:
        row = ended.row or ended.job.row
        details: dict[str, object] = {"attempt": row.progress.attempts}
        count = self.tools.telemetry.count
        if isinstance(ended.ending, Failed):
            failure = ended.ending.failure
            details |= {"failure": str(failure.kind), "reason": failure.message}
            self.failures[failure.kind, failure.message] += 1
            if failure.kind.spends_attempt:
                count("TasksFailed")
                count("RetriesFailed", int(ended.job.row.progress.attempts > 0))
        elif isinstance(ended.ending, Indexed | Removed) and ended.row is not None:
            details |= self._count_success(ended.job, ended.row)
        self.tools.telemetry.event(ended.conclusion.event, **ended.job.task.log_fields(), **details)
        count(ended.conclusion.metric)
        if ended.row is not None and is_announced(ended.row):
            count("TasksEnded", target=self.tools.target.name)

    def _count_success(self, job: Job, row: LedgerRow) -> dict[str, object]:
        """Count how fresh an entry is, and what it took; return what is logged of it."""
        count, now_ms = self.tools.telemetry.count, self.tools.clock()
        count("Attempts", row.progress.attempts)
        if row.progress.attempts > 1:
            count("RetriesSucceeded")
            failed_ms = [error.at_ms for error in row.errors if error.at_ms >= row.written_ms]
            count("RetrySuccessMilliseconds", max(0, now_ms - min(failed_ms, default=now_ms)))
        paid: dict[str, object] = {"tokens": row.indexed.tokens} if row.indexed.tokens else {}
        if not row.written_ms:
            return paid
        # The write has the time of another clock.
        fresh_ms = max(0, now_ms - row.written_ms)
        task = job.task
        count("FreshnessMilliseconds", fresh_ms, lane=str(task.lane), source=task.source)
        return {**paid, "freshness_ms": fresh_ms}
