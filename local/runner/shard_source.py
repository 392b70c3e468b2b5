"""Read one shard of a real stream in order, from its checkpoint on, as a mapping collects it."""

import logging
import time
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.aws_client import REGION, local_arn
from local.runner.invocation import PAYLOAD_LIMIT_BYTES
from local.runner.mapping import Record, size_of
from local.runner.shard import TRIM_HORIZON, Shard
from local.runner.stream_event import stream_record

logger = logging.getLogger(__name__)

# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html
GET_RECORDS_LIMIT = 1000
WINDOW_STEP_SECONDS = 0.1


class ShardSource:
    """One shard as its reader sees it."""

    def __init__(self, shard: Shard) -> None:
        """Make the client; reading begins at the checkpoint."""
        self._shard = shard
        place = shard.wiring.place
        # DynamoDB Local writes the region ddblocal.
        self.stream_arn = local_arn("dynamodb", shard.stream.split(":", 5)[5])
        self._streams = place.client("dynamodbstreams", place.dynamodb_url)
        self._iterator: str | None = None
        self.is_closed = False

    def restart(self) -> None:
        """Go back to the checkpoint."""
        self._iterator = None
        self.is_closed = False

    def collect(self) -> list[Record]:
        """Return a batch: full, or what one read or the window brought; empty if nothing came."""
        batch = self._read(self._shard.spec.batch_size)
        end = time.monotonic() + self._shard.spec.window_seconds
        size = sum(map(size_of, batch))
        while batch and self._may_wait(len(batch), size):
            left = end - time.monotonic()
            if left <= 0:
                break
            try:
                more = self._read(self._shard.spec.batch_size - len(batch))
            except (BotoCoreError, ClientError) as error:
                logger.warning("%s cannot be read: %s", self._shard.name, error)
                self.restart()
                break
            batch += more
            size += sum(map(size_of, more))
            if not more:
                self._shard.wiring.stop.wait(min(left, WINDOW_STEP_SECONDS))
        return batch

    def _may_wait(self, count: int, size: int) -> bool:
        has_room = count < self._shard.spec.batch_size and size < PAYLOAD_LIMIT_BYTES
        return has_room and self._shard.wiring.is_working and not self.is_closed

    def _read(self, count: int) -> list[Record]:
        if self.is_closed:
            return []
        if self._iterator is None:
            self._iterator = self._find_iterator()
        answer = self._streams.get_records(
            ShardIterator=self._iterator, Limit=min(count, GET_RECORDS_LIMIT)
        )
        self._iterator = answer.get("NextShardIterator")
        self.is_closed = self._iterator is None
        return [
            stream_record(record, arn=self.stream_arn, region=REGION)
            for record in answer["Records"]
        ]

    def _find_iterator(self) -> str:
        after = self._shard.after
        if after is None:
            return self._get_iterator(ShardIteratorType=self._shard.start)
        try:
            return self._get_iterator(
                ShardIteratorType="AFTER_SEQUENCE_NUMBER", SequenceNumber=after
            )
        except self._streams.exceptions.TrimmedDataAccessException:
            # What we would go on after is older than the stream keeps.
            return self._get_iterator(ShardIteratorType=TRIM_HORIZON)

    def _get_iterator(self, **where: Any) -> str:
        answer = self._streams.get_shard_iterator(
            StreamArn=self._shard.stream, ShardId=self._shard.name, **where
        )
        iterator: str = answer["ShardIterator"]
        return iterator
