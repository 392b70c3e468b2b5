"""STREAM -> FUNCTION. Every shard has one reader, and a child begins when its parent is done."""

import logging
from collections.abc import Mapping
from threading import Thread
from typing import Any

from local.runner.mapping import SWITCH_SECONDS, Backoff, Wiring
from local.runner.shard import TRIM_HORIZON, Checkpoint, Shard
from local.runner.shard_reader import ShardReader
from local.specs import StreamMappingSpec

logger = logging.getLogger(__name__)

# New shards appear when one closes, so a closed one makes us look at once.
LOOK_SECONDS = 5.0


class StreamMapping:
    """The shards of one table's stream, and their readers."""

    def __init__(self, spec: StreamMappingSpec, wiring: Wiring) -> None:
        self.spec = spec
        self.wiring = wiring
        place = wiring.place
        self._dynamodb = place.client("dynamodb", place.dynamodb_url)
        self._streams = place.client("dynamodbstreams", place.dynamodb_url)
        self._checkpoint = Checkpoint(place.folder / "checkpoints" / f"{spec.mapping_id}.json")
        self._readers: dict[tuple[str, str], ShardReader] = {}
        self._unreachable = Backoff(0.1, 5.0)
        self._looker = Thread(target=self._run, name=f"{spec.mapping_id}-shards", daemon=True)

    def start(self) -> None:
        """Begin to look for shards and to read them."""
        self._looker.start()

    def join(self) -> None:
        """Wait for every reader to end, after the stop event."""
        if self._looker.is_alive():
            self._looker.join()
        for reader in self._readers.values():
            reader.thread.join()

    def _run(self) -> None:
        while not self.wiring.stop.is_set():
            if self.wiring.switch.is_on:
                self._look()
                self.wiring.switch.settle(enabled=True)
                self._watch_readers()
            else:
                if all(reader.is_at_rest for reader in self._readers.values()):
                    self.wiring.switch.settle(enabled=False)
                self.wiring.switch.wait_until_on(SWITCH_SECONDS)

    def _look(self) -> None:
        try:
            self._start_readers()
        except Exception:
            # The engine is away or the table not there yet: look again.
            logger.exception("the stream of %s cannot be read", self.spec.table)
            self._unreachable.wait(self.wiring.stop)
        else:
            self._unreachable.reset()

    def _watch_readers(self) -> None:
        """Return when a shard has ended, the mapping is switched, or it is time to look again."""
        waited = 0.0
        while self.wiring.is_working and waited < LOOK_SECONDS:
            ended = [key for key, reader in self._readers.items() if not reader.thread.is_alive()]
            if ended or not self._readers:
                for key in ended:
                    del self._readers[key]
                self.wiring.stop.wait(SWITCH_SECONDS)
                return
            self.wiring.stop.wait(SWITCH_SECONDS)
            waited += SWITCH_SECONDS

    def _start_readers(self) -> None:
        table = self._dynamodb.describe_table(TableName=self.spec.table)["Table"]
        stream = table["LatestStreamArn"]
        shards = self._shards(stream)
        # A shard that came between two looks was written after our start: from its beginning.
        start = TRIM_HORIZON if self._checkpoint.knows(stream) else self.spec.starting_position
        self._checkpoint.begin(stream, shards)
        for shard, parent in shards.items():
            waits = parent in shards and not self._checkpoint.is_closed(stream, parent)
            if (stream, shard) in self._readers or waits:
                continue
            if not self._checkpoint.is_closed(stream, shard):
                found = Shard(self.spec, self.wiring, self._checkpoint, stream, shard, start)
                reader = ShardReader(found, self.spec, self.wiring)
                self._readers[stream, shard] = reader
                reader.thread.start()

    def _shards(self, stream: str) -> Mapping[str, str]:
        """Return every shard of the stream with its parent, which may be gone."""
        shards: dict[str, str] = {}
        more: dict[str, Any] = {}
        while True:
            answer = self._streams.describe_stream(StreamArn=stream, **more)["StreamDescription"]
            for shard in answer["Shards"]:
                shards[shard["ShardId"]] = shard.get("ParentShardId", "")
            if "LastEvaluatedShardId" not in answer:
                return shards
            more = {"ExclusiveStartShardId": answer["LastEvaluatedShardId"]}
