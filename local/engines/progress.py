"""How a download shows itself: a bar on a terminal, plain lines otherwise."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

LINE_EACH_SECONDS = 5.0
MEGABYTE = 1_000_000


class FetchProgress:
    """Counts files and bytes over all threads; shows nothing, its subclasses do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.files = self.files_done = 0
        self.bytes_expected = self.bytes_done = 0

    @contextmanager
    def fetching(self, files: int) -> Iterator[None]:
        """Show the progress of this many files while the block runs."""
        self.files = files
        yield

    def add(self, *, expected: int = 0, received: int = 0, files: int = 0) -> None:
        """Add bytes and files; a negative number takes back what was announced and did not come."""
        with self._lock:
            self.bytes_expected += expected
            self.bytes_done += received
            self.files_done += files
            self._show()

    def _show(self) -> None:
        pass


class LineProgress(FetchProgress):
    """A line now and then, for logs and pipes."""

    def __init__(self, log: Callable[[str], None]) -> None:
        super().__init__()
        self._log = log
        self._next_line = 0.0

    @contextmanager
    def fetching(self, files: int) -> Iterator[None]:
        """Log what is fetched, how far it is, and when it is done."""
        self._log(f"fetching {files} engine files (all are 250 MB, once per user)")
        began = time.monotonic()
        self._next_line = began + LINE_EACH_SECONDS
        with super().fetching(files):
            yield
        megabytes = self.bytes_done / MEGABYTE
        self._log(f"fetched {megabytes:.0f} MB in {time.monotonic() - began:.1f} s")

    def _show(self) -> None:
        if time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_EACH_SECONDS
            megabytes = self.bytes_done / MEGABYTE
            self._log(f"fetched {self.files_done} of {self.files} files, {megabytes:.0f} MB")


class BarProgress(FetchProgress):
    """One bar over all files, for a terminal."""

    @contextmanager
    def fetching(self, files: int) -> Iterator[None]:
        """Draw the bar while the block runs."""
        columns = (
            TextColumn("fetching engines, {task.fields[done]} of {task.fields[files]} files"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        with super().fetching(files), Progress(*columns, console=Console(stderr=True)) as self._bar:
            self._task = self._bar.add_task("", total=None, done=0, files=files)
            yield

    def _show(self) -> None:
        self._bar.update(
            self._task,
            total=self.bytes_expected or None,
            completed=self.bytes_done,
            done=self.files_done,
        )


def fetch_progress(log: Callable[[str], None]) -> FetchProgress:
    """Choose the bar on a terminal and lines otherwise."""
    return BarProgress() if sys.stderr.isatty() else LineProgress(log)
