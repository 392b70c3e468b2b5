"""Endings -> ledger. A row follows its task's version only: a newer change is never touched."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from functions.core.failure import FailureError
from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Clock, Ledger, Message, Telemetry
from functions.core.retry_policy import RetryPolicy
from functions.embed.ending import Buried, Conclusion, Ending, Failed, Indexed, conclude
from functions.embed.intake import Returned
from functions.embed.job import Job

# Another run, of a newer version or of a copy, has closed the row meanwhile.
OVERTAKEN = Conclusion("task_superseded", "TasksSuperseded")


@dataclass(frozen=True)
class Closing:
    """The step with its boxes."""

    ledger: Ledger
    telemetry: Telemetry
    clock: Clock
    policy: RetryPolicy
    model: str
    jitter: Callable[[], float]

    def close(self, jobs: Sequence[Job], endings: Mapping[RowKey, Ending]) -> list[Returned]:
        """Write how each job ended; return the messages that go back."""
        waiting = {job.key: job for job in jobs}
        returned: list[Returned] = []
        try:
            while waiting:
                conclusions = {
                    key: self._conclude(job.row, endings[key]) for key, job in waiting.items()
                }
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
        except FailureError as error:
            self.telemetry.event("ledger_failed", failure=str(error), tasks=len(waiting))
            # The tasks come again, and find their entries in the index.
            returned += [self.later(job.message) for job in waiting.values()]
        return returned

    def later(self, message: Message) -> Returned:
        """Give a message back for a while, by how often it was delivered."""
        jitter = self.jitter()
        return Returned(message, self.policy.backoff_seconds(message.receive_count, jitter=jitter))

    def _conclude(self, row: LedgerRow, ending: Ending) -> Conclusion:
        return conclude(
            row,
            ending,
            policy=self.policy,
            model=self.model,
            jitter=self.jitter(),
            now_ms=self.clock(),
        )

    def _conclude_message(self, job: Job, ending: Ending, conclusion: Conclusion) -> list[Returned]:
        row = conclusion.row or job.row
        details: dict[str, object] = {"attempt": row.attempts}
        if isinstance(ending, Failed):
            details |= {"failure": str(ending.failure.kind), "reason": ending.failure.message}
            self.telemetry.count(f"Failures.{ending.failure.kind}")
        if isinstance(ending, Indexed | Buried):
            details["freshness_ms"] = self.clock() - row.written_ms
            self.telemetry.count("FreshnessMilliseconds", self.clock() - row.written_ms)
        self.telemetry.event(conclusion.event, **job.task.log_fields(), **details)
        self.telemetry.count(conclusion.metric)
        if conclusion.again_in_seconds is None:
            return []
        return [Returned(job.message, conclusion.again_in_seconds)]


def _is_still_ours(row: LedgerRow, job: Job, ending: Ending) -> bool:
    """Tell whether the row of a lost write still waits for this ending."""
    if row.version != job.task.version:
        return False
    # Another copy of the task may have failed; what is in the index is in the index.
    return row.status.is_open or (row.status.is_failed and isinstance(ending, Indexed | Buried))
