"""A stack on disk in a process of its own, for tests that kill it or a part of it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from local import background
from local.engines.engine import START_SECONDS as ENGINE_SECONDS
from local.engines.records import Record, read_record
from local.processes import ProcessId, wait_for
from local.stages import CHECKOUT
from tests.stack.articles import Articles
from tests.stack.own_stage import OWN, articles_only
from tests.waiting import until

OWNER = "the stack itself"
# Longer than an engine may take, so that a stack says itself which one did not start.
START_SECONDS = ENGINE_SECONDS + 60.0
DAEMON = (sys.executable, "-m", "local.daemon")
STAGE = (str(OWN.file), OWN.name)


class DiskStack:
    """One folder, and the process that runs a stack on it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def up(self) -> Articles:
        """Start the stack where none runs, and return its documents."""
        state = self._folder / background.STATE
        if self._process is None:
            state.unlink(missing_ok=True)
            with (self._folder / background.LOG).open("ab") as log:
                self._process = subprocess.Popen(
                    [*DAEMON, str(self._folder), "hashed", *STAGE, "--short-lived"],
                    cwd=CHECKOUT,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    # Where it hangs, its log says in which lines.
                    env={**os.environ, "PYTHONFAULTHANDLER": "1"},
                )
            if not wait_for(lambda: state.exists() or self._has_ended(), START_SECONDS):
                self._process.send_signal(signal.SIGABRT)
                self._process.wait(60)
        assert not self._has_ended(), (self._folder / background.LOG).read_text()[-20_000:]
        found = json.loads(state.read_text())
        return Articles(articles_only(found["endpoint_url"]), found["model_origin"])

    def open_to_others(self) -> list[Path]:
        """Return the files and folders of the stack that another user could read or enter."""
        # Links lead to packages of the checkout, and to the data of an engine of another user.
        inside = [path for path in self._folder.rglob("*") if not path.is_symlink()]
        engines = [path.resolve() for path in (self._folder / background.ENGINES).iterdir()]
        return [
            path
            for path in (self._folder, *inside, *engines)
            if path.stat().st_mode & 0o077 and path.name != background.LOG
        ]

    def kill(self, victim: str) -> None:
        """Kill the stack's process or one engine, and wait until no process of it is left."""
        record = self._record()
        engines = {one.name: one.process for one in record.engines}
        dying = record.owner if victim == OWNER else engines[victim]
        os.kill(dying.pid, signal.SIGKILL)
        # A stack that lost one of its engines stops by itself.
        until(self._has_ended, f"the stack ends without {victim}")
        self.down()
        until(lambda: not _alive(record), "no process is left")

    def down(self) -> None:
        """End the stack, if it runs."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def _record(self) -> Record:
        found = read_record(self._folder / background.ENGINES)
        assert found is not None
        return found

    def _has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None


def _alive(record: Record) -> list[ProcessId]:
    return [process for process in record.processes() if process.is_alive()]
