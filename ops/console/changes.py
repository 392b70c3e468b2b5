"""What has changed since a page was made: pages that are open hear of it by server-sent events."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl, urlencode

# Also finds out which browsers are gone.
LOOK_SECONDS = 0.5
ALIVE_SECONDS = 15.0


class Changes:
    """Counts changes by topic: `sample`, `failures`, `breakers` or `runs`."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._ended = False

    def note(self, topic: str) -> None:
        """Let pages that show this topic ask for it again."""
        with self._lock:
            self._counts[topic] += 1

    def close(self) -> None:
        """End the streams."""
        self._ended = True

    def seen(self) -> str:
        """Return the state that a page is made from, as `stream` takes it."""
        with self._lock:
            return urlencode(self._counts)

    async def stream(self, before: str) -> AsyncIterator[str]:
        """Yield an event for each topic that has changed since, and a comment now and then."""
        seen, quiet = Counter(_counts(before)), 0.0
        yield "retry: 2000\n\nevent: open\ndata:\n\n"
        while not self._ended:
            found = self._counts.copy()
            topics = [topic for topic in found if found[topic] != seen[topic]]
            seen, quiet = found, quiet + LOOK_SECONDS
            if topics:
                yield f"event: changed\ndata: {' '.join(topics)}\n\n"
            elif quiet >= ALIVE_SECONDS:
                yield ": alive\n\n"
            if topics or quiet >= ALIVE_SECONDS:
                quiet = 0.0
            await asyncio.sleep(LOOK_SECONDS)


def _counts(written: str) -> dict[str, int]:
    return {name: int(value) for name, value in parse_qsl(written) if value.isdecimal()}
