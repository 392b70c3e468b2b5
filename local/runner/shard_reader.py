"""SHARD -> FUNCTION. The checkpoint passes a record only when it is done or kept as failed."""

import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from threading import Thread

from local.aws_client import local_arn
from local.runner.invocation import failed_items
from local.runner.mapping import (
    SWITCH_SECONDS,
    Backoff,
    Record,
    Wiring,
    event_of,
    split_by_payload,
)
from local.runner.shard import Shard
from local.runner.stream_batch import Discard, Part, Split, after_failure, too_old
from local.runner.stream_event import EXHAUSTED, TOO_OLD, FailedRecords, sequence_number
from local.specs import StreamMappingSpec

logger = logging.getLogger(__name__)


class ShardReader:
    """One shard, one batch at a time, in order."""

    def __init__(self, shard: Shard, spec: StreamMappingSpec, wiring: Wiring) -> None:
        self._shard = shard
        self._spec = spec
        self._wiring = wiring
        self._s3 = wiring.place.client("s3", wiring.place.aws_url)
        self._last_request = ""
        # Lambda polls a shard four times a second.
        self._empty = Backoff(0.05, 0.25)
        self._unreachable = Backoff(0.1, 5.0)
        self._failing = Backoff(0.1, 5.0)
        self.is_at_rest = True
        name = f"{spec.mapping_id}-{shard.name}"
        self.thread = Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        while not self._wiring.stop.is_set():
            # Before the switch is read, so that we never count as resting while we work.
            self.is_at_rest = False
            if not self._wiring.switch.is_on:
                self.is_at_rest = True
                self._wiring.switch.wait_until_on(SWITCH_SECONDS)
                continue
            try:
                if self._step():
                    return
            except Exception:
                # Such as an engine that is away: nothing is lost behind the checkpoint.
                logger.exception("%s is read again from its checkpoint", self._shard.name)
                self._shard.restart()
                self._unreachable.wait(self._wiring.stop)

    def _step(self) -> bool:
        """Collect and work one batch; return whether the shard was read to its end."""
        batch = self._shard.collect()
        self._unreachable.reset()
        if batch:
            self._empty.reset()
            for part in split_by_payload(batch):
                if not self._work(Part(part)):
                    # Stopped in the middle: what is left is read again.
                    self._shard.restart()
                    return False
        elif self._shard.is_closed:
            self._shard.close()
            return True
        else:
            self._empty.wait(self._wiring.stop)
        return False

    def _work(self, whole: Part) -> bool:
        """Bring a batch to its end; False if stopped before."""
        waiting = [whole]
        while waiting:
            if not self._wiring.is_working:
                return False
            part = waiting.pop()
            if old := too_old(part, self._spec, time.time()):
                self._discard(Part(part.records[:old], runs=part.runs), TOO_OLD)
                part = Part(part.records[old:], part.failed_runs, part.runs)
            if part.records:
                waiting += reversed(self._run_function(part))
        return True

    def _run_function(self, part: Part) -> Sequence[Part]:
        """Run the function on a part and return what is left to do."""
        numbers = [sequence_number(record) for record in part.records]
        invocation = self._wiring.invoke(event_of(part.records))
        self._last_request = invocation.request_id
        failed = failed_items(invocation, numbers, reports_failures=self._spec.reports_failures)
        self._wiring.counter.add_run(invocation, len(numbers), len(failed))
        if not failed:
            self._failing.reset()
            self._done(part.records)
            return []
        if invocation.is_throttled:
            # It did not run: that spends no retry, only the records' age ends it.
            self._failing.wait(self._wiring.stop)
            return [part]
        step = after_failure(part, min(map(numbers.index, failed)), self._spec)
        self._done(step.done)
        match step:
            case Split():
                return step.parts
            case Discard():
                self._discard(step.part, EXHAUSTED)
                return []
        self._failing.wait(self._wiring.stop)
        return [step.part]

    def _done(self, records: Sequence[Record]) -> None:
        if records:
            self._shard.advance(sequence_number(records[-1]))

    def _discard(self, part: Part, condition: str) -> None:
        """Keep what is given up in the on-failure bucket, then pass it."""
        logger.warning("%d records of %s: %s", len(part.records), self._shard.name, condition)
        if self._spec.failure_bucket:
            failed = FailedRecords(
                records=part.records,
                condition=condition,
                invocations=part.runs,
                request_id=self._last_request,
                function_arn=local_arn("lambda", f"function:{self._spec.function}"),
                mapping_id=self._spec.mapping_id,
                stream_arn=self._shard.stream_arn,
                shard_id=self._shard.name,
            )
            now = datetime.now(UTC)
            self._s3.put_object(
                Bucket=self._spec.failure_bucket, Key=failed.key(now), Body=failed.body(now)
            )
        self._wiring.counter.add(discarded=len(part.records))
        self._done(part.records)
