"""QUEUE -> FUNCTION. A message is deleted only after the function has said that it is done.

What failed is left alone: it comes back when its visibility timeout, or what the function made of
it, runs out. https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore, Thread

from botocore.exceptions import BotoCoreError, ClientError

from local.runner.invocation import failed_items
from local.runner.mapping import (
    SWITCH_SECONDS,
    Backoff,
    Record,
    Wiring,
    event_of,
    split_by_payload,
)
from local.runner.queue_source import QueueSource
from local.specs import QueueMappingSpec

logger = logging.getLogger(__name__)

# Without MaximumConcurrency Lambda begins with five batches at a time; here it stays there.
DEFAULT_CONCURRENCY = 5


class QueueMapping:
    """One poller that feeds up to MaximumConcurrency invocations."""

    def __init__(self, spec: QueueMappingSpec, wiring: Wiring) -> None:
        self.spec = spec
        self.wiring = wiring
        self._source = QueueSource(spec, wiring)
        self._limit = spec.max_concurrency or DEFAULT_CONCURRENCY
        self._slots = Semaphore(self._limit)
        self._workers = ThreadPoolExecutor(self._limit, thread_name_prefix=spec.mapping_id)
        self._poller = Thread(target=self._run, name=f"{spec.mapping_id}-poller", daemon=True)
        self._empty = Backoff(0.01, 0.1)
        self._unreachable = Backoff(0.1, 5.0)
        # Lambda slows its polling down while the function itself fails.
        self._failing = Backoff(0.1, 2.0)

    def start(self) -> None:
        """Begin to poll."""
        self._poller.start()

    def join(self) -> None:
        """Wait for the poller and every batch to end, after the stop event."""
        if self._poller.is_alive():
            self._poller.join()
        self._workers.shutdown()

    def _run(self) -> None:
        while not self.wiring.stop.is_set():
            if not self.wiring.switch.is_on:
                self._rest()
            elif self._slots.acquire(timeout=SWITCH_SECONDS):
                self.wiring.switch.settle(enabled=True)
                batch = self._poll()
                if batch:
                    self._workers.submit(self._work, batch)
                else:
                    self._slots.release()

    def _rest(self) -> None:
        """Come to rest when the last batch has ended, then wait to be switched on."""
        held = 0
        while held < self._limit and self._slots.acquire(timeout=SWITCH_SECONDS):
            held += 1
        if held == self._limit:
            self.wiring.switch.settle(enabled=False)
            self.wiring.switch.wait_until_on(SWITCH_SECONDS)
        if held:
            self._slots.release(held)

    def _poll(self) -> list[Record]:
        try:
            batch = self._source.collect()
        except (BotoCoreError, ClientError) as error:
            logger.warning("%s cannot be polled: %s", self.spec.queue, error)
            self._unreachable.wait(self.wiring.stop)
            return []
        self._unreachable.reset()
        if batch:
            self._empty.reset()
        else:
            self._empty.wait(self.wiring.stop)
        return batch

    def _work(self, batch: list[Record]) -> None:
        try:
            for part in split_by_payload(batch):
                # A later message of a group must not overtake one that failed.
                if not self._invoke(part) and self.spec.queue.endswith(".fifo"):
                    break
        except Exception:
            logger.exception("a batch of %s was lost; it comes again", self.spec.queue)
        finally:
            self._slots.release()

    def _invoke(self, part: list[Record]) -> bool:
        """Run the function on a batch and delete what it did; return whether that was all."""
        ids = [record["messageId"] for record in part]
        invocation = self.wiring.invoke(event_of(part))
        failed = failed_items(invocation, ids, reports_failures=self.spec.reports_failures)
        self.wiring.counter.add_run(invocation, len(part), len(failed))
        self._source.delete([record for record in part if record["messageId"] not in failed])
        if invocation.error is None:
            self._failing.reset()
        else:
            self._failing.wait(self.wiring.stop)
        return not failed
