"""One shard of a stream: how far it is done, over restarts, and its records from there on."""

import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from local.aws_client import local_arn
from local.files import read_json, write_json
from local.runner.mapping import Record, Source, Wiring
from local.runner.stream_event import stream_record
from local.specs import StreamMappingSpec

TRIM_HORIZON = "TRIM_HORIZON"
# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html
GET_RECORDS_LIMIT = 1000


class Checkpoint:
    """The place after which each shard goes on, in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._streams: dict[str, dict[str, dict[str, Any]]] = read_json(file)

    def knows(self, stream: str) -> bool:
        """Return whether the stream was ever read."""
        return stream in self._streams

    def after(self, stream: str, shard: str) -> str | None:
        """Return the last sequence number that is done, None where there is none."""
        after: str | None = self._streams.get(stream, {}).get(shard, {}).get("after")
        return after

    def is_closed(self, stream: str, shard: str) -> bool:
        """Return whether a shard was worked to its end."""
        return bool(self._streams.get(stream, {}).get(shard, {}).get("closed"))

    def advance(self, stream: str, shard: str, after: str) -> None:
        """Note that everything up to a sequence number is done."""
        with self._lock:
            self._shard(stream, shard)["after"] = after
            write_json(self._file, self._streams)

    def close(self, stream: str, shard: str) -> None:
        """Note that a shard is done, so that its children may begin."""
        with self._lock:
            self._shard(stream, shard)["closed"] = True
            write_json(self._file, self._streams)

    def begin(self, stream: str, shards: Collection[str]) -> None:
        """Note that a stream is read, and forget shards and streams that are gone."""
        with self._lock:
            known = self._streams.get(stream, {})
            kept = {shard: place for shard, place in known.items() if shard in shards}
            if self._streams != {stream: kept}:
                self._streams = {stream: kept}
                write_json(self._file, self._streams)

    def _shard(self, stream: str, shard: str) -> dict[str, Any]:
        return self._streams.setdefault(stream, {}).setdefault(shard, {})


class Shard(Source):
    """One shard, read in order from its checkpoint on."""

    def __init__(
        self,
        spec: StreamMappingSpec,
        wiring: Wiring,
        checkpoint: Checkpoint,
        stream: str,  # the engine's ARN
        name: str,
        start: str,  # where to begin if nothing of it is done
    ) -> None:
        super().__init__(name, spec, wiring)
        self.name = name
        # DynamoDB Local writes the region ddblocal.
        self.stream_arn = local_arn("dynamodb", stream.split(":", 5)[5])
        self._checkpoint = checkpoint
        self._stream = stream
        self._start = start
        self._streams = wiring.place.client("dynamodbstreams", wiring.place.dynamodb_url)
        self._iterator: str | None = None
        self._empty_at = 0.0  # when a look behind this iterator found nothing

    def advance(self, after: str) -> None:
        """Note that everything up to a sequence number is done."""
        self._checkpoint.advance(self._stream, self.name, after)

    def close(self) -> None:
        """Note that all of it is done."""
        self._checkpoint.close(self._stream, self.name)

    def restart(self) -> None:
        """Go back to the checkpoint."""
        self._iterator = None
        self._empty_at = 0.0
        self.is_closed = False

    def read(self, count: int, wait_seconds: int) -> list[Record]:  # noqa: ARG002 - never waits
        """Return up to so many records; none at the end of the shard."""
        if self.is_closed:
            return []
        if self._iterator is None:
            self._iterator = self._find_iterator()
        looked_at = time.time()
        answer = self._streams.get_records(
            ShardIterator=self._iterator, Limit=min(count, GET_RECORDS_LIMIT)
        )
        self._iterator = answer.get("NextShardIterator")
        self.is_closed = self._iterator is None
        # DynamoDB Local knows the minute only, in which a record was written: it was after the
        # look that found none.
        written_after, arn = self._empty_at, self.stream_arn
        found = [stream_record(r, arn=arn, written_after=written_after) for r in answer["Records"]]
        self._empty_at = self._empty_at if found else looked_at
        return found

    def _find_iterator(self) -> str:
        after = self._checkpoint.after(self._stream, self.name)
        if after is None:
            return self._get_iterator(ShardIteratorType=self._start)
        try:
            return self._get_iterator(
                ShardIteratorType="AFTER_SEQUENCE_NUMBER", SequenceNumber=after
            )
        except self._streams.exceptions.TrimmedDataAccessException:
            # What we would go on after is older than the stream keeps.
            return self._get_iterator(ShardIteratorType=TRIM_HORIZON)

    def _get_iterator(self, **where: Any) -> str:
        answer = self._streams.get_shard_iterator(
            StreamArn=self._stream, ShardId=self.name, **where
        )
        iterator: str = answer["ShardIterator"]
        return iterator
