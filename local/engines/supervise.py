"""The owner's side of a running engine: start it under a watcher, know it, stop it."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from local.engines.errors import EngineStartError
from local.engines.places import Place

WATCHER = Path(__file__).with_name("watcher.py")
GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Job:
    """What to run, and how."""

    name: str
    command: tuple[str, ...]
    place: Place
    user: int | None = None
    grace_seconds: float = GRACE_SECONDS

    def as_json(self) -> str:
        """Return the job as the watcher reads it."""
        identity = {}
        if self.user is not None:
            identity = {"user": self.user, "group": self.user, "extra_groups": []}
        return json.dumps(
            {
                "command": self.command,
                "folder": str(self.place.data),
                "log": str(self.place.log),
                # Nothing of ours: no credentials, no JAVA_TOOL_OPTIONS.
                "environment": {"HOME": str(self.place.data)},
                "identity": identity,
                "remove": str(self.place.data) if self.place.remove_at_end else None,
                "grace_seconds": self.grace_seconds,
            }
        )


class EngineProcess:
    """One engine under its watcher. It lives no longer than the process that made it."""

    def __init__(self, job: Job) -> None:
        """Start the watcher and wait for the engine's pid, which it tells at once."""
        self.name = job.name
        self.place = job.place
        # Its own session: Ctrl-C at the terminal reaches the owner alone, who then stops us in
        # order. -I -S: nothing of the environment or the installed packages can change it.
        with self.place.log.open("ab") as log:
            self._watcher = subprocess.Popen(
                [sys.executable, "-I", "-S", str(WATCHER), job.as_json()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self._watcher.stdout is not None
        with self._watcher.stdout as told:
            line = told.readline()
        if not line:
            self.stop()
            raise EngineStartError(f"{job.name} could not be run. {self.place.last_lines()}")
        self.pid = int(line)

    @property
    def watcher_pid(self) -> int:
        """Return the watcher's process id."""
        return self._watcher.pid

    def ended(self) -> bool:
        """Tell whether the engine has ended by itself."""
        return self._watcher.poll() is not None

    def stop(self) -> None:
        """End the engine and wait until it and its watcher are gone."""
        self.ask_to_stop()
        self.wait_until_gone()

    def ask_to_stop(self) -> None:
        """Let the watcher end the engine, without waiting for it."""
        assert self._watcher.stdin is not None
        self._watcher.stdin.close()

    def wait_until_gone(self) -> None:
        """Wait for the end of the watcher, which is the last to go."""
        try:
            self._watcher.wait(3 * GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._watcher.pid, signal.SIGKILL)
            self._watcher.wait()
