"""Endings -> ledger. A row follows its task's version only: a newer change is never touched."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from functions.core.announcement import announcement, is_announced
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.core.next_step import later_seconds, soon_seconds
from functions.core.ports import Announcer, Clock, Ledger, Message, Telemetry
from functions.core.retry_policy import RetrySettings
from functions.embed.ending import (
    Buried,
    Conclusion,
    Ending,
    Failed,
    Indexed,
    Rules,
    conclude,
    gives_up,
)
from functions.embed.failure_report import FailureReport
from functions.embed.intake import Returned
from functions.embed.job import Job

# Another run, of a newer version or of a copy, has closed the row meanwhile.
OVERTAKEN = Conclusion("task_superseded", "TasksSuperseded")
EVENT_REFUSED = Failure(FailureKind.EVENT_REFUSED, "EventBridge refused the completion event")


@dataclass(frozen=True)
class Closing:
    """The step with its boxes."""

    ledger: Ledger
    announcer: Announcer
    telemetry: Telemetry
    clock: Clock
    retry: RetrySettings
    model: str
    stage: str
    jitter: Callable[[], float]
    is_failing: Callable[[], bool]
    report: FailureReport

    def close(self, jobs: Sequence[Job], endings: Mapping[RowKey, Ending]) -> list[Returned]:
        """Write how each job ended; return the messages that go back."""
        waiting = {job.key: job for job in jobs}
        returned: list[Returned] = []
        try:
            while waiting:
                conclusions = {
                    key: self._conclude(job.row, endings[key]) for key, job in waiting.items()
                }
                for key in self.announce([c.row for c in conclusions.values() if c.row]):
                    # Not closed before it is told: the task comes again, and finds its entry.
                    conclusions[key] = self._conclude(waiting[key].row, Failed(EVENT_REFUSED))
                rows = [c.row for c in conclusions.values() if c.row is not None]
                lost = self.ledger.write(rows).lost
                for key, conclusion in conclusions.items():
                    job = waiting.pop(key)
                    if key not in lost:
                        returned += self._conclude_message(job, endings[key], conclusion)
                        continue
                    now = lost[key]
                    if now is not None and _is_still_ours(now, job, endings[key]):
                        waiting[key] = replace(job, row=now)
                    else:
                        self._conclude_message(job, endings[key], OVERTAKEN)
                        if now is not None and _is_dead(now, job):
                            returned.append(Returned(job.message, 0))
        except FailureError as error:
            self.telemetry.event("ledger_failed", failure=str(error), tasks=len(waiting))
            # The tasks come again, and find their entries in the index.
            returned += [self.later(job.message) for job in waiting.values()]
        return returned

    def announce(self, rows: Sequence[LedgerRow]) -> list[RowKey]:
        """Tell the world which of these rows come to their end; return those that it missed."""
        ended = [row for row in rows if is_announced(row)]
        if not ended:
            return []
        details = [announcement(row, stage=self.stage, at_ms=self.clock()) for row in ended]
        missed = [ended[number].row_key for number in self.announcer.announce(details)]
        if missed:
            self.telemetry.event("announcement_failed", tasks=len(missed))
        return missed

    def soon(self, message: Message) -> Returned:
        """Give a message back that this run had no time for."""
        seconds = soon_seconds(message.receive_count, self.retry)
        return Returned(message, seconds * (1 - self.jitter() / 2))

    def later(self, message: Message) -> Returned:
        """Give a message back of which the ledger can tell nothing now."""
        seconds = later_seconds(message.receive_count)
        return Returned(message, seconds * (1 - self.jitter() / 2))

    def gives_up(self, row: LedgerRow, failure: Failure) -> bool:
        """Tell whether this failure would be the document's last."""
        return gives_up(row, failure, self._rules(), now_ms=self.clock())

    def _conclude(self, row: LedgerRow, ending: Ending) -> Conclusion:
        return conclude(row, ending, self._rules(), now_ms=self.clock())

    def _rules(self) -> Rules:
        return Rules(self.retry, self.model, self.is_failing(), self.jitter())

    def _conclude_message(self, job: Job, ending: Ending, conclusion: Conclusion) -> list[Returned]:
        row = conclusion.row or job.row
        details: dict[str, object] = {"attempt": row.progress.attempts}
        if isinstance(ending, Failed):
            details |= {"failure": str(ending.failure.kind), "reason": ending.failure.message}
            self.report.note(ending.failure)
            self.telemetry.count("TasksFailed", int(ending.failure.kind.spends_attempt))
        if isinstance(ending, Indexed | Buried):
            details["freshness_ms"] = self.clock() - row.written_ms
            self.telemetry.count("FreshnessMilliseconds", self.clock() - row.written_ms)
        self.telemetry.event(conclusion.event, **job.task.log_fields(), **details)
        self.telemetry.count(conclusion.metric)
        if conclusion.again_in_seconds is None:
            return []
        return [Returned(job.message, conclusion.again_in_seconds)]


def _is_dead(row: LedgerRow, job: Job) -> bool:
    """Tell whether another copy has given this very task up: its message is to die, too."""
    return row.task.version == job.task.version and row.status.is_failed and not row.is_healing


def _is_still_ours(row: LedgerRow, job: Job, ending: Ending) -> bool:
    """Tell whether the row of a lost write still waits for this ending."""
    if row.task.version != job.task.version:
        return False
    # Another copy of the task may have failed; what is in the index is in the index.
    return row.status.is_open or (row.status.is_failed and isinstance(ending, Indexed | Buried))
