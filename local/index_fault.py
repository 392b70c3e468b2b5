"""The index of a local stack, broken on purpose: OpenSearch answers 429 to everything.

Its own limit of memory does it, so that embedq meets what a node without memory answers.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from functions.adapters.opensearch_http import OpenSearchError, OpenSearchHttp
from functions.core.failure import FailureError
from local.files import read_json, write_json

FILE = "index-fault.json"
# Of all breakers of the node; a request that changes settings is always answered.
LIMIT = "indices.breaker.total.limit"


class IndexFault:
    """The fault of one stack. Transient: a node that starts again has forgotten it."""

    def __init__(self, folder: Path, url: str, clock: Callable[[], float] = time.time) -> None:
        self._file = folder / FILE
        self._http = OpenSearchHttp(url, credentials=None, region="")
        self._clock = clock

    def begin(self, seconds: float | None) -> None:
        """Break the index, for a time or until `end`."""
        # Before the index is broken: whoever looks after its end then knows of it.
        until = None if seconds is None else self._clock() + seconds
        write_json(self._file, {"until": until})
        self._limit("1b")

    def end(self) -> None:
        """Repair the index."""
        self._limit(None)
        self._file.unlink(missing_ok=True)

    def end_if_due(self) -> None:
        """Repair the index once its time is over."""
        found = read_json(self._file)
        if found and found["until"] is not None and found["until"] <= self._clock():
            # Tried again with the next look.
            with suppress(FailureError, OpenSearchError):
                self.end()

    def forget(self) -> None:
        """Note that the node was started again."""
        self._file.unlink(missing_ok=True)

    @property
    def is_in_force(self) -> bool:
        """Return whether the index is broken."""
        return bool(read_json(self._file))

    @property
    def left_seconds(self) -> float | None:
        """Return how long it stays broken; None for one without an end."""
        until = read_json(self._file).get("until")
        return None if until is None else max(0.0, until - self._clock())

    def _limit(self, value: str | None) -> None:
        self._http.call("PUT", "_cluster/settings", {"transient": {LIMIT: value}})
