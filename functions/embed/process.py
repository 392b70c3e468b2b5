"""Messages -> index. A message is acknowledged only after its entry and its row are durable."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from functions.core.batches import batches
from functions.core.document import Document, Unusable, read_document
from functions.core.entry import Entry, Tombstone
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.next_step import LAST_HIDING_RECEIVE
from functions.core.ports import (
    Clock,
    Ledger,
    Message,
    Source,
    TaskQueue,
    Telemetry,
    VectorIndex,
)
from functions.core.settings import SourceSettings, TargetSettings
from functions.core.transitions import hand_back, put_in_lane
from functions.embed.closing import Closing
from functions.embed.ending import NO_TIME, Ending, Failed, Untouched
from functions.embed.guard import Guard
from functions.embed.intake import Intake, Received, Returned
from functions.embed.job import Job, Prepared
from functions.embed.landing import land
from functions.embed.payment import Paid, Payment
from functions.embed.prepare import LOAD_CHUNKS, parcels, prepare
from functions.embed.run_time import RunTime, SecondsLeft

# BatchGetItem's limit: one read of the source per round.
ROUND_DOCUMENTS = 100

Contents = dict[RowKey, Document | Unusable | None]


@dataclass(frozen=True)
class Embed:
    """The step with its boxes."""

    source: Source
    ledger: Ledger
    queue: TaskQueue
    index: VectorIndex
    guard: Guard
    payment: Payment
    intake: Intake
    closing: Closing
    telemetry: Telemetry
    clock: Clock
    sources: Mapping[str, SourceSettings]
    target: TargetSettings
    # Tries the provider and the index past their breakers; tells what failed of each.
    probe: Callable[[Sequence[str]], Mapping[str, str | None]]

    def process(self, messages: Sequence[Message], seconds_left: SecondsLeft) -> list[str]:
        """Work a batch; return the ids of the messages that failed."""
        time = RunTime.begin(seconds_left)
        self.guard.begin(time.for_requests)
        received, returned = self.intake.parse(messages)
        for part in batches(self.intake.newest(received), ROUND_DOCUMENTS):
            returned += self._safely(part, time)
        self.guard.end()
        self.closing.report.tell()
        # The last thing of all: from this call on the messages may come again.
        for message in self.queue.hide([(b.message, round(b.seconds)) for b in returned]):
            self.telemetry.event("message_not_hidden", message_id=message.message_id)
        return [back.message.message_id for back in returned]

    def _safely(self, part: Sequence[Received], time: RunTime) -> list[Returned]:
        """Work a round; whatever happens, the batch gets an answer."""
        try:
            return self._round(part, time) if time.has_a_round else self._hand_back(part, time)
        except Exception as error:  # noqa: BLE001
            # The ledger cannot be read or written: nothing was paid, and nobody is charged.
            failure = self._failure(error)
            self.telemetry.event("round_failed", failure=failure.message, tasks=len(part))
            return [self.closing.later(one.message) for one in part]

    def _round(self, received: Sequence[Received], time: RunTime) -> list[Returned]:
        admitted = self.intake.admit(received, run_seconds=time.total)
        returned = admitted.dead + self._work(admitted.jobs, time)
        for suspect in admitted.suspects:
            # Alone, and after the others are done: the next death is this one's.
            returned += self._safely([suspect], time)
        return returned

    def _hand_back(self, part: Sequence[Received], time: RunTime) -> list[Returned]:
        """Give back what the run has no time for; what came often is parked, before it dies."""
        often = [one for one in part if one.message.receive_count >= LAST_HIDING_RECEIVE]
        returned = [self.closing.soon(one.message) for one in part if one not in often]
        if often:
            admitted = self.intake.admit(often, run_seconds=time.total)
            returned += admitted.dead
            returned += [self.closing.soon(one.message) for one in admitted.suspects]
            endings: dict[RowKey, Ending] = {job.key: Failed(NO_TIME) for job in admitted.jobs}
            returned += self.closing.close(admitted.jobs, endings)
        return returned

    def _work(self, jobs: Sequence[Job], time: RunTime) -> list[Returned]:
        try:
            contents = self._read(jobs)
        except Exception as error:  # noqa: BLE001
            return self.closing.close(jobs, self._all_failed(jobs, error))
        jobs = [_typed(job, contents[job.key]) for job in jobs]
        revived = [job for job in jobs if _is_revived(job, contents[job.key])]
        gone = [
            job
            for job in jobs
            if not isinstance(contents[job.key], Document) and job not in revived
        ]
        present = [job for job in jobs if job not in revived and job not in gone]
        # Deletes first: they leave the search also while the provider is down.
        returned = self._move(revived) + self._bury(gone, contents)
        for load in self._loads(present, contents, time, returned):
            returned += self._load(load, time)
        return returned

    def _read(self, jobs: Sequence[Job]) -> Contents:
        contents: Contents = {}
        for name, source in self.sources.items():
            mine = [job for job in jobs if job.task.source == name]
            if mine:
                # By the row's key: a message may be anybody's, the ledger is ours.
                items = self.source.read(source, [job.row.task.key for job in mine])
                for job, item in zip(mine, items, strict=True):
                    contents[job.key] = None if item is None else read_document(item, source)
        return contents

    def _bury(self, jobs: Sequence[Job], contents: Contents) -> list[Returned]:
        endings: dict[RowKey, Ending] = {}
        graves: list[tuple[Job, Entry | Tombstone]] = []
        for job in jobs:
            match self._prepare(job, contents[job.key]):
                case Tombstone() as stone:
                    graves.append((job, stone))
                case Failed() as failed:
                    endings[job.key] = failed
        endings |= self._land(graves, {})
        return self.closing.close(jobs, endings)

    def _loads(
        self,
        jobs: Sequence[Job],
        contents: Contents,
        time: RunTime,
        returned: list[Returned],
    ) -> Iterator[list[Prepared]]:
        """Split texts only as fast as they are embedded; close what never gets that far."""
        load: list[Prepared] = []
        for job in jobs:
            if not time.has_a_round:
                returned += self.closing.close([job], {job.key: Untouched()})
                continue
            match self._prepare(job, contents[job.key]):
                case Prepared() as ready:
                    if load and _chunks(load) + len(ready.texts) > LOAD_CHUNKS:
                        yield load
                        load = []
                    load.append(ready)
                case Failed() as failed:
                    returned += self.closing.close([job], {job.key: failed})
        if load:
            yield load

    def _load(self, load: Sequence[Prepared], time: RunTime) -> list[Returned]:
        jobs = [ready.job for ready in load]
        if not time.has_a_round:
            return self.closing.close(jobs, {job.key: Untouched() for job in jobs})
        try:
            paid, unpaid = self.payment.pay(load, time)
        except Exception as error:  # noqa: BLE001
            return self.closing.close(jobs, self._all_failed(jobs, error))
        endings: dict[RowKey, Ending] = {}
        for job in jobs:
            if one := unpaid.get(job.key):
                if self._is_last(job, one.ending) and one.rest is not None:
                    # What is paid shall be found, even if the rest never comes.
                    paid.append(one.rest)
                else:
                    endings[job.key] = one.ending
        returned = self.closing.close([job for job in jobs if job.key in endings], endings)
        for parcel in parcels(paid, dimensions=self.target.dimensions):
            returned += self._deliver(parcel, time)
        return returned

    def _is_last(self, job: Job, ending: Failed | Untouched) -> bool:
        return isinstance(ending, Failed) and self.closing.gives_up(job.row, ending.failure)

    def _deliver(self, parcel: Sequence[Paid], time: RunTime) -> list[Returned]:
        """Write one bulk body's worth of documents; stash what does not get into the index."""
        jobs = [one.prepared.job for one in parcel]
        endings: dict[RowKey, Ending]
        if not time.has_a_parcel:
            endings = {job.key: Untouched() for job in jobs}
        else:
            entries = [(one.prepared.job, one.entry(now_ms=self.clock())) for one in parcel]
            endings = self._land(entries, {one.prepared.job.key: one.tokens for one in parcel})
        for one in parcel:
            ending = endings[one.prepared.job.key]
            if isinstance(ending, Failed | Untouched):
                stashed = self.payment.keep(one.prepared, one.vectors)
                endings[one.prepared.job.key] = replace(ending, stashed=stashed)
        return self.closing.close(jobs, endings)

    def _land(
        self, entries: Sequence[tuple[Job, Entry | Tombstone]], tokens: Mapping[RowKey, int]
    ) -> dict[RowKey, Ending]:
        try:
            return land(self.index, entries, tokens=tokens)
        except Exception as error:  # noqa: BLE001
            return self._all_failed([job for job, _ in entries], error)

    def _move(self, jobs: Sequence[Job]) -> list[Returned]:
        """Send tasks of the delete lane whose documents exist again to where they are embedded.

        The version stays: were the send to fail, the same message would try the same again.
        """
        rows = [hand_back(put_in_lane(job.row, Lane.NORMAL)) for job in jobs]
        moved = list(self.ledger.write(rows).stored.values())
        unsent = {task.row_key for task in self.queue.send([row.task for row in moved])}
        for row in moved:
            self.telemetry.event("task_moved", **row.task.log_fields())
        return [self.closing.soon(job.message) for job in jobs if job.key in unsent]

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


def _typed(job: Job, content: Document | Unusable | None) -> Job:
    """Note the document's type on its row: it chooses the retry policy."""
    return job if content is None else replace(job, row=replace(job.row, type=content.type))


def _is_revived(job: Job, content: Document | Unusable | None) -> bool:
    return job.task.lane is Lane.DELETE and isinstance(content, Document)


def _chunks(load: Sequence[Prepared]) -> int:
    return sum(len(ready.texts) for ready in load)
