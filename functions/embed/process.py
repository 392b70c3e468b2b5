"""Messages -> index. A message is acknowledged only after its entry and its row are durable.

A batch is worked in rounds, whose rows and items are read together; the documents of a round in
loads, which memory bounds; a load is paid in requests to the provider, and written in parcels, each
one bulk request to the index.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import TypeVar

from functions.core.document import Document, Unusable, read_document
from functions.core.entry import Tombstone
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import Quarantine
from functions.core.ports import NO_KEY, Message, Source, VectorIndex
from functions.core.settings import SourceSettings
from functions.core.transitions import confirm_sent, put_in_lane, requeue
from functions.embed.admit import has_started
from functions.embed.ending import Ending, Failed, Untouched
from functions.embed.entry_writes import Writes, write_entries
from functions.embed.finish import Ended, Finish
from functions.embed.guard.guard import Guard
from functions.embed.job import Job, Prepared, Received, Returned
from functions.embed.packing import LARGEST_SHARING_TOKENS
from functions.embed.payment import Paid, Payment
from functions.embed.prepare import LOAD_CHUNKS, parcels, split_document, tombstone
from functions.embed.receive import Receive, Round
from functions.embed.run_time import RunTime, SecondsLeft
from functions.embed.tools import Tools

Contents = dict[RowKey, Document | Unusable | None]
T = TypeVar("T")


@dataclass(frozen=True)
class Embed:
    """The step with its dependencies."""

    tools: Tools
    source: Source
    index: VectorIndex
    guard: Guard
    payment: Payment
    receive: Receive
    finish: Finish
    sources: Mapping[str, SourceSettings]
    # Tries the provider and the index past their breakers; returns what failed of each.
    probe: Callable[[Sequence[str]], Mapping[str, str | None]]

    def process(self, messages: Sequence[Message], seconds_left: SecondsLeft) -> list[str]:
        """Work a batch; return the ids of the messages that failed."""
        time = RunTime.begin(seconds_left)
        # A crash of this run is noticed soon after its own end, not after the queue's visibility
        # timeout, which is six runs long. Where SQS does not answer, it stays at that.
        self.tools.queue.hide([(message, ceil(time.crash_noticed_seconds)) for message in messages])
        received, returned = self.receive.parse(messages)
        newest = self.receive.newest(received)
        # A run has the messages of one lane.
        is_live = any(one.task.lane.traits.is_live for one in newest)
        with self.guard.run(time.for_requests, is_live=is_live):
            read = self._caught(lambda: self.receive.rounds(newest))
            if isinstance(read, Failed):
                returned += self._later(newest, read)
            else:
                rounds, unreadable = read
                returned += unreadable
                while rounds:
                    # Off the list: its rows are not kept until the end of the batch.
                    returned += self._round(rounds.pop(0), time)
        self.payment.report()
        self.finish.report()
        # The last thing of all: from this call on the messages may come again.
        hiding = [(one.message, round(one.seconds)) for one in returned]
        for message in self.tools.queue.hide(hiding):
            self.tools.telemetry.event("message_not_hidden", message_id=message.message_id)
        return [one.message.message_id for one in returned]

    def _round(self, round_: Round, time: RunTime) -> list[Returned]:
        """Work a round; whatever happens, the batch gets an answer."""
        returned = self._caught(lambda: self._work_round(round_, time))
        if not isinstance(returned, Failed):
            return returned
        left: Sequence[Received] | Failed = round_.received
        is_started = round_.quarantine is Quarantine.ALONE and not round_.is_late
        if is_started and returned.failure.kind.traits.is_free:
            left = self._caught(lambda: self._not_sent_anew(round_.received))
        return self._later(round_.received if isinstance(left, Failed) else left, returned)

    def _not_sent_anew(self, received: Sequence[Received]) -> list[Received]:
        """Send anew what may be marked as in work, although the ledger's answer never came.

        With the same message, the next run would take this one for crashed, and spend an attempt.
        Return the others.
        """
        rows = self._caught(lambda: self.tools.ledger.read(one.task.row_key for one in received))
        started = [
            one
            for one in received
            if isinstance(rows, Failed)
            or ((row := rows.get(one.task.row_key)) and has_started(one.message, row))
        ]
        unsent = self.finish.send_anew(started)
        return [one for one in received if one not in started or one in unsent]

    def _later(self, received: Sequence[Received], failed: Failed) -> list[Returned]:
        # The ledger cannot be read or written: nothing was paid, and no attempt is spent.
        why = failed.failure.message
        self.tools.telemetry.event("round_failed", failure=why, tasks=len(received))
        return [Returned.later(one.message, jitter=self.tools.jitter()) for one in received]

    def _work_round(self, round_: Round, time: RunTime) -> list[Returned]:
        admitted = self.receive.admit(round_, time)
        if round_.is_late:
            # A crash of this run would bring them back, and SQS would move what is over already.
            kept = {back.message for back in admitted.returned}
            for message in (one.message for one in round_.received):
                if message not in kept:
                    self.tools.queue.acknowledge(message)
        return admitted.returned + self._work(admitted.jobs, time)

    def _work(self, jobs: Sequence[Job], time: RunTime) -> list[Returned]:
        if not jobs:
            return []
        contents = self._caught(lambda: self._read(jobs))
        if isinstance(contents, Failed):
            return self.finish.close(self._all(jobs, contents))
        refused = [self.finish.end(job, Failed(NO_KEY)) for job in jobs if job.key not in contents]
        returned = self.finish.close(refused)
        jobs = [_typed(job, contents[job.key]) for job in jobs if job.key in contents]
        back = [job for job in jobs if _is_back(job, contents[job.key])]
        returned += self._move(back)
        for ended in self._results([job for job in jobs if job not in back], contents, time):
            returned += self.finish.close(ended)
        return returned

    def _read(self, jobs: Sequence[Job]) -> Contents:
        """Read the documents; one whose key the table refuses is left out."""
        contents: Contents = {}
        for name, source in self.sources.items():
            of_source = [job for job in jobs if job.task.source == name]
            if of_source:
                # By the row's key: anyone may send a message, only we write the ledger.
                items = self.source.read(source, [job.row.task.key for job in of_source])
                for job, item in zip(of_source, items, strict=True):
                    if not isinstance(item, Failure):
                        contents[job.key] = None if item is None else read_document(item, source)
        return contents

    def _move(self, jobs: Sequence[Job]) -> list[Returned]:
        """Send tasks of the delete lane whose documents exist again to where they are embedded.

        As any requeue: the sweep sends what was not confirmed. A write that was lost is no move,
        and its message comes again.
        """
        ledger, now_ms = self.tools.ledger, self.tools.clock()
        rows = [requeue(put_in_lane(job.row, Lane.NORMAL), now_ms=now_ms) for job in jobs]
        moved = ledger.write(rows).stored
        tasks = [row.task for row in moved.values()]
        unsent = {task.row_key for task in self.tools.queue.send(tasks)}
        ledger.write([confirm_sent(row) for key, row in moved.items() if key not in unsent])
        for task in tasks:
            self.tools.telemetry.event("task_moved", **task.log_fields())
        return [
            Returned.soon(job.message, self.tools.target.retry, jitter=self.tools.jitter())
            for job in jobs
            if job.key not in moved
        ]

    def _results(
        self, jobs: Sequence[Job], contents: Contents, time: RunTime
    ) -> Iterator[list[Ended]]:
        """Yield how the jobs ended, as soon as it is known, to be closed at once."""
        # Deletes first: they leave the search also while the provider is down.
        yield self._remove(
            [(job, one) for job in jobs if not isinstance(one := contents[job.key], Document)]
        )
        documents = [(job, one) for job in jobs if isinstance(one := contents[job.key], Document)]
        load: list[Prepared] = []
        # Small ones first, and each large one by itself: none waits for the size of another.
        for job, document in sorted(documents, key=lambda one: len(one[1].text)):
            # Texts are split only as fast as they are embedded.
            split = partial(split_document, job, document, self.tools.target)
            prepared = self._caught(split) if time.has_a_round else Untouched()
            if not isinstance(prepared, Prepared):
                yield self._all([job], prepared)
                continue
            if load and (self._is_large(prepared) or _chunks([*load, prepared]) > LOAD_CHUNKS):
                yield from self._embed(load, time)
                load = []
            load.append(prepared)
        if load:
            yield from self._embed(load, time)

    def _is_large(self, prepared: Prepared) -> bool:
        return len(prepared.texts) * self.tools.target.chunk_tokens > LARGEST_SHARING_TOKENS

    def _remove(self, jobs: Sequence[tuple[Job, Unusable | None]]) -> list[Ended]:
        make = partial(tombstone, target=self.tools.target, now_ms=self.tools.clock())
        made = [(job, self._caught(partial(make, job, content))) for job, content in jobs]
        tombstones = [(job, one) for job, one in made if isinstance(one, Tombstone)]
        endings = self._write(tombstones, {})
        return [
            self.finish.end(job, one if isinstance(one, Failed) else endings[job.key])
            for job, one in made
        ]

    def _embed(self, load: Sequence[Prepared], time: RunTime) -> Iterator[list[Ended]]:
        jobs = [prepared.job for prepared in load]
        if not time.has_a_round:
            yield self._all(jobs, Untouched())
            return
        payment = self._caught(lambda: self.payment.pay(load, time))
        if isinstance(payment, Failed):
            yield self._all(jobs, payment)
            return
        paid, unpaid = payment
        ended: list[Ended] = []
        for job in jobs:
            if one := unpaid.get(job.key):
                end = self.finish.end(job, one.ending)
                if one.indexable_part is not None and end.is_last_attempt:
                    # What is paid is made searchable, even if the other chunks never come.
                    paid.append(one.indexable_part)
                else:
                    ended.append(end)
        yield ended
        for parcel in parcels(paid, dimensions=self.tools.target.dimensions):
            yield self._deliver(parcel, time)

    def _deliver(self, parcel: Sequence[Paid], time: RunTime) -> list[Ended]:
        """Write one bulk body's worth of documents; stash what does not get into the index."""
        endings: dict[RowKey, Ending]
        if not time.has_a_parcel:
            endings = {one.prepared.job.key: Untouched() for one in parcel}
        else:
            entries = [(one.prepared.job, one.entry(now_ms=self.tools.clock())) for one in parcel]
            endings = self._write(entries, {one.prepared.job.key: one.tokens for one in parcel})
        ended: list[Ended] = []
        for one in parcel:
            ending = endings[one.prepared.job.key]
            if isinstance(ending, Failed | Untouched):
                ending = replace(ending, stashed=self.payment.keep(one.prepared, one.vectors))
            ended.append(self.finish.end(one.prepared.job, ending))
        return ended

    def _write(self, entries: Writes, tokens: Mapping[RowKey, int]) -> dict[RowKey, Ending]:
        endings = self._caught(lambda: write_entries(self.index, entries, tokens=tokens))
        if isinstance(endings, Failed):
            return {job.key: endings for job, _ in entries}
        return endings

    def _all(self, jobs: Sequence[Job], ending: Ending) -> list[Ended]:
        return [self.finish.end(job, ending) for job in jobs]

    def _caught(self, stage: Callable[[], T]) -> T | Failed:
        """Run one stage: whatever goes wrong there is the failure of its documents alone."""
        try:
            return stage()
        except FailureError as error:
            return Failed(error.failure)
        except Exception as error:  # noqa: BLE001
            self.tools.telemetry.unexpected(error)
            reason = f"unexpected {type(error).__name__}, see the log"
            return Failed(Failure(FailureKind.UNKNOWN, reason))


def _typed(job: Job, content: Document | Unusable | None) -> Job:
    """Note on the row the type, which chooses the retry policy, and the tenant."""
    if content is None:
        return job
    row = replace(job.row, type=content.type)
    if isinstance(content, Document):
        row = replace(row, task=replace(row.task, tenant=content.tenant))
    return replace(job, row=row)


def _is_back(job: Job, content: Document | Unusable | None) -> bool:
    """Tell whether a document exists again that its task is to delete."""
    return job.task.lane is Lane.DELETE and isinstance(content, Document)


def _chunks(load: Sequence[Prepared]) -> int:
    return sum(len(prepared.texts) for prepared in load)
