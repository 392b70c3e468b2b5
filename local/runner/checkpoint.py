"""How far each shard of a mapping's stream has been worked, kept over a restart."""

import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any

from local.files import read_json, write_json


class Checkpoint:
    """The place after which each shard goes on, in a file."""

    def __init__(self, file: Path) -> None:
        """Go on from what the file remembers."""
        self._file = file
        self._lock = threading.Lock()
        self._streams: dict[str, dict[str, dict[str, Any]]] = read_json(file)

    def knows(self, stream: str) -> bool:
        """Tell whether the stream was ever read."""
        return stream in self._streams

    def after(self, stream: str, shard: str) -> str | None:
        """Return the last sequence number that is done, None where there is none."""
        after: str | None = self._streams.get(stream, {}).get(shard, {}).get("after")
        return after

    def is_closed(self, stream: str, shard: str) -> bool:
        """Tell whether a shard was worked to its end."""
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
