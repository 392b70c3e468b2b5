"""Bring one URL into a part file, going on where an earlier try or run broke off."""

import http.client
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from local.engines.errors import WITHOUT_ENGINES, FetchError
from local.engines.progress import FetchProgress

CHUNK_BYTES = 256 * 1024
STALL_SECONDS = 30.0
# Each pause follows a try that brought nothing new; a try that did starts the list again.
PAUSES_SECONDS = (0.5, 2.0, 5.0)
PASSING_STATUS = frozenset({408, 429, 500, 502, 503, 504})
RANGE_NOT_SATISFIABLE = 416


class _BrokenOffError(Exception):
    """The answer ended before its announced length."""


class _CancelledError(Exception):
    """Another file failed, or Ctrl-C: this one is no longer needed."""


@dataclass(frozen=True)
class Downloader:
    """Downloads files until it is cancelled; one serves all threads of a fetch."""

    progress: FetchProgress
    pause: Callable[[float], None] = time.sleep
    cancelled: threading.Event = field(default_factory=threading.Event)

    def complete(self, url: str, part: Path, what: str) -> None:
        """Bring the part file to its full length, over as many tries as make progress."""
        pauses = iter(PAUSES_SECONDS)
        while True:
            before = size_of(part)
            try:
                return self._continue(url, part)
            except urllib.error.HTTPError as error:
                error.close()
                reason: Exception = error
                if error.code not in PASSING_STATUS:
                    raise _cannot_fetch(what, url, error) from error
            except (OSError, http.client.HTTPException, _BrokenOffError) as error:
                reason = error
            if size_of(part) > before:
                pauses = iter(PAUSES_SECONDS)
            seconds = next(pauses, None)
            if seconds is None:
                raise _cannot_fetch(what, url, reason) from reason
            self.pause(seconds)

    def _continue(self, url: str, part: Path) -> None:
        """Ask for what is missing of the part file and append it."""
        have = size_of(part)
        headers = {"Range": f"bytes={have}-"} if have else {}
        try:
            answer = urllib.request.urlopen(
                urllib.request.Request(url, headers=headers), timeout=STALL_SECONDS
            )
        except urllib.error.HTTPError as error:
            if error.code != RANGE_NOT_SATISFIABLE:
                raise
            error.close()
            return  # Nothing lies beyond what we have: the checksum decides.
        with answer:
            self._receive(answer, part)

    def _receive(self, answer: http.client.HTTPResponse, part: Path) -> None:
        """Write the answer to the part file; an answer cut short keeps what came."""
        announced = answer.headers.get("Content-Length")
        left = int(announced) if announced else 0
        self.progress.add(expected=left)
        # A server without ranges answers 200 and sends the whole file again.
        with part.open("ab" if answer.status == http.HTTPStatus.PARTIAL_CONTENT else "wb") as file:
            try:
                while chunk := answer.read(CHUNK_BYTES):
                    if self.cancelled.is_set():
                        raise _CancelledError
                    file.write(chunk)
                    left -= len(chunk)
                    self.progress.add(received=len(chunk))
            finally:
                self.progress.add(expected=-max(left, 0))
            os.fsync(file.fileno())
        if left > 0:
            raise _BrokenOffError(f"the answer ended {left} bytes before its announced end")


def size_of(path: Path) -> int:
    """Return the file's size, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


def _cannot_fetch(what: str, url: str, reason: Exception) -> FetchError:
    if isinstance(reason, urllib.error.HTTPError):
        detail = f"the server answered {reason.code} {reason.reason}"
    else:
        detail = str(getattr(reason, "reason", None) or reason)
    return FetchError(
        f"Cannot fetch {what} from {url}: {detail}. Set EMBEDQ_MAVEN_MIRROR to a Maven repository "
        f"that this machine can reach, {WITHOUT_ENGINES}."
    )
