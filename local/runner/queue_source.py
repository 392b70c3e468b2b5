"""Receive and delete on a real queue: batches as a mapping collects them.

https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
"""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.aws_client import REGION, local_arn
from local.runner.invocation import PAYLOAD_LIMIT_BYTES
from local.runner.mapping import Record, Wiring, size_of
from local.runner.queue_event import queue_record
from local.specs import QueueMappingSpec

logger = logging.getLogger(__name__)

RECEIVE_LIMIT = 10
# AWS polls for up to 20 s. A poll that is abandoned burns a receive, so a mapping that is stopped
# or disabled waits for its end; hence a short one.
POLL_SECONDS = 1
WINDOW_STEP_SECONDS = 0.1


class QueueSource:
    """One queue as its mapping sees it."""

    def __init__(self, spec: QueueMappingSpec, wiring: Wiring) -> None:
        """Make the client; the queue is looked up at the first poll."""
        self._spec = spec
        self._wiring = wiring
        place = wiring.place
        self._arn = local_arn("sqs", spec.queue)
        self._sqs = place.client("sqs", place.sqs_url, connections=(spec.max_concurrency or 5) + 2)
        self._url = ""

    def collect(self) -> list[Record]:
        """Return a batch: full, or what one poll or the window brought; empty if nothing came."""
        batch = self._receive(self._spec.batch_size, POLL_SECONDS)
        end = time.monotonic() + self._spec.window_seconds
        size = sum(map(size_of, batch))
        while batch and self._wiring.is_working and self._has_room(len(batch), size):
            left = end - time.monotonic()
            if left <= 0:
                break
            try:
                more = self._receive(self._spec.batch_size - len(batch), int(min(left, 1)))
            except (BotoCoreError, ClientError) as error:
                logger.warning("receive failed on %s: %s", self._spec.queue, error)
                break
            batch += more
            size += sum(map(size_of, more))
            if not more:
                self._wiring.stop.wait(min(left, WINDOW_STEP_SECONDS))
        return batch

    def delete(self, records: Sequence[Record]) -> None:
        """Delete what succeeded, ten at a time; what cannot be deleted comes again."""
        for start in range(0, len(records), RECEIVE_LIMIT):
            self._delete_ten(records[start : start + RECEIVE_LIMIT])

    def _has_room(self, count: int, size: int) -> bool:
        return count < self._spec.batch_size and size < PAYLOAD_LIMIT_BYTES

    def _receive(self, count: int, wait_seconds: int) -> list[Record]:
        if not self._url:
            self._url = self._sqs.get_queue_url(QueueName=self._spec.queue)["QueueUrl"]
        answer = self._sqs.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=min(count, RECEIVE_LIMIT),
            WaitTimeSeconds=wait_seconds,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        messages: Iterable[Mapping[str, Any]] = answer.get("Messages", [])
        return [queue_record(message, arn=self._arn, region=REGION) for message in messages]

    def _delete_ten(self, records: Sequence[Record]) -> None:
        entries = [
            {"Id": str(number), "ReceiptHandle": record["receiptHandle"]}
            for number, record in enumerate(records)
        ]
        try:
            answer = self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
        except (BotoCoreError, ClientError) as error:
            logger.warning("delete failed on %s: %s", self._spec.queue, error)
            return
        for failure in answer.get("Failed", []):
            message_id = records[int(failure["Id"])]["messageId"]
            logger.warning("%s was not deleted: %s", message_id, failure.get("Message"))
