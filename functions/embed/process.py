"""Messages -> index. A message is acknowledged only after its entry and its row are durable."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from functions.core.batches import batches
from functions.core.document import Document, Unusable, read_document
from functions.core.entry import Entry, Tombstone
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import Status
from functions.core.ports import (
    Clock,
    Embedder,
    Ledger,
    Message,
    Source,
    Stash,
    TaskQueue,
    Telemetry,
    VectorIndex,
)
from functions.core.retry_policy import DEFAULT_POLICY, RetryPolicy
from functions.core.settings import SourceSettings, TargetSettings
from functions.embed.closing import Closing
from functions.embed.ending import Ending, Failed, Untouched
from functions.embed.intake import Intake, Received, Returned
from functions.embed.job import Job, Prepared
from functions.embed.landing import land
from functions.embed.payment import Payment
from functions.embed.prepare import loads, prepare
from functions.embed.vectorize import FINISH_SECONDS, REQUEST_TIMEOUT_SECONDS, SecondsLeft

# BatchGetItem's limit: one read of the source per round.
ROUND_DOCUMENTS = 100
# None starts without the time to finish.
ROUND_SECONDS = FINISH_SECONDS + REQUEST_TIMEOUT_SECONDS / 2
STORE_RETRY_SECONDS = 5.0

Contents = dict[RowKey, Document | Unusable | None]


@dataclass(frozen=True)
class Embed:
    """The step with its boxes."""

    source: Source
    ledger: Ledger
    queue: TaskQueue
    index: VectorIndex
    payment: Payment
    intake: Intake
    closing: Closing
    telemetry: Telemetry
    clock: Clock
    sources: Mapping[str, SourceSettings]
    target: TargetSettings

    def process(self, messages: Sequence[Message], seconds_left: SecondsLeft) -> list[str]:
        """Work a batch; return the ids of the messages that failed."""
        received, returned = self.intake.parse(messages)
        for part in batches(self.intake.newest(received), ROUND_DOCUMENTS):
            if seconds_left() < ROUND_SECONDS:
                returned += [Returned(one.message, 0) for one in part]
                continue
            try:
                returned += self._round(part, seconds_left)
            except FailureError as error:
                # The ledger or the source cannot be read: nothing was paid, nobody is charged.
                self.telemetry.event("round_failed", failure=str(error), tasks=len(part))
                returned += [Returned(one.message, STORE_RETRY_SECONDS) for one in part]
        # The last thing of all: from this call on the messages may come again.
        self.queue.hide([(back.message, round(back.seconds)) for back in returned])
        return [back.message.message_id for back in returned]

    def _round(self, received: Sequence[Received], seconds_left: SecondsLeft) -> list[Returned]:
        jobs, returned = self.intake.admit(received)
        try:
            contents = self._read(jobs)
        except Exception as error:  # noqa: BLE001
            return returned + self.closing.close(jobs, self._all_failed(jobs, error))
        revived = [job for job in jobs if _is_revived(job, contents[job.key])]
        returned += self._move(revived)
        return returned + self._work(
            [job for job in jobs if job not in revived], contents, seconds_left
        )

    def _read(self, jobs: Sequence[Job]) -> Contents:
        contents: Contents = {}
        for name, source in self.sources.items():
            mine = [job for job in jobs if job.task.source == name]
            if mine:
                # By the row's key: a message may be anybody's, the ledger is ours.
                items = self.source.read(source, [job.row.key for job in mine])
                for job, item in zip(mine, items, strict=True):
                    contents[job.key] = None if item is None else read_document(item, source)
        return contents

    def _work(
        self, jobs: Sequence[Job], contents: Contents, seconds_left: SecondsLeft
    ) -> list[Returned]:
        prepared: list[Prepared] = []
        graves: list[tuple[Job, Entry | Tombstone]] = []
        failed: dict[RowKey, Ending] = {}
        for job in jobs:
            match self._prepare(job, contents[job.key]):
                case Prepared() as ready:
                    prepared.append(ready)
                case Tombstone() as stone:
                    graves.append((job, stone))
                case failure:
                    failed[job.key] = failure
        # Deletes first: they leave the search also while the provider is down.
        failed |= self._land(graves, {})
        done = [job for job in jobs if job.key in failed]
        returned = self.closing.close(done, failed)
        for load in loads(prepared):
            returned += self._load(load, seconds_left)
        return returned

    def _load(self, load: Sequence[Prepared], seconds_left: SecondsLeft) -> list[Returned]:
        jobs = [ready.job for ready in load]
        if seconds_left() < ROUND_SECONDS:
            return self.closing.close(jobs, {job.key: Untouched() for job in jobs})
        try:
            paid, endings = self.payment.pay(load, seconds_left)
        except Exception as error:  # noqa: BLE001
            return self.closing.close(jobs, self._all_failed(jobs, error))
        entries = [(one.prepared.job, one.entry(now_ms=self.clock())) for one in paid]
        landed = self._land(entries, {one.prepared.job.key: one.tokens for one in paid})
        for one in paid:
            ending = landed[one.prepared.job.key]
            if isinstance(ending, Failed):
                stashed = self.payment.keep(one.prepared, one.vectors)
                landed[one.prepared.job.key] = replace(ending, stashed=stashed)
        return self.closing.close(jobs, {**endings, **landed})

    def _land(
        self, entries: Sequence[tuple[Job, Entry | Tombstone]], tokens: Mapping[RowKey, int]
    ) -> dict[RowKey, Ending]:
        try:
            return land(self.index, entries, tokens=tokens)
        except Exception as error:  # noqa: BLE001
            return self._all_failed([job for job, _ in entries], error)

    def _prepare(
        self, job: Job, content: Document | Unusable | None
    ) -> Prepared | Tombstone | Failed:
        try:
            return prepare(job, content, self.target, now_ms=self.clock())
        except Exception as error:  # noqa: BLE001
            return Failed(self._failure(error))

    def _all_failed(self, jobs: Sequence[Job], error: Exception) -> dict[RowKey, Ending]:
        ending = Failed(self._failure(error))
        return {job.key: ending for job in jobs}

    def _failure(self, error: Exception) -> Failure:
        """Classify what an adapter did not: whatever happens, every document gets an end."""
        if isinstance(error, FailureError):
            return error.failure
        self.telemetry.unexpected(error)
        return Failure(FailureKind.UNKNOWN, f"unexpected {type(error).__name__}, see the log")

    def _move(self, jobs: Sequence[Job]) -> list[Returned]:
        """Send tasks of the delete lane whose documents exist again to where they are embedded.

        The version stays: were the send to fail, the same message would try the same again.
        """
        rows = [replace(job.row, lane=Lane.NORMAL, status=Status.PENDING) for job in jobs]
        stored = self.ledger.write(rows).stored
        unsent = {task.row_key for task in self.queue.send([row.task for row in stored.values()])}
        for row in stored.values():
            self.telemetry.event("task_moved", **row.task.log_fields())
        return [Returned(job.message, STORE_RETRY_SECONDS) for job in jobs if job.key in unsent]


def _is_revived(job: Job, content: Document | Unusable | None) -> bool:
    return job.task.lane is Lane.DELETE and isinstance(content, Document)


def build_embed(
    *,
    source: Source,
    ledger: Ledger,
    queue: TaskQueue,
    embedder: Embedder,
    index: VectorIndex,
    stash: Stash,
    telemetry: Telemetry,
    clock: Clock,
    jitter: Callable[[], float],
    sources: Sequence[SourceSettings],
    target: TargetSettings,
    policy: RetryPolicy = DEFAULT_POLICY,
) -> Embed:
    """Put the step together from its boxes."""
    return Embed(
        source=source,
        ledger=ledger,
        queue=queue,
        index=index,
        payment=Payment(embedder, index, stash, telemetry, target),
        intake=Intake(
            ledger, telemetry, clock, policy, target.name, frozenset(one.name for one in sources)
        ),
        closing=Closing(ledger, telemetry, clock, policy, target.model, jitter),
        telemetry=telemetry,
        clock=clock,
        sources={one.name: one for one in sources},
        target=target,
    )
