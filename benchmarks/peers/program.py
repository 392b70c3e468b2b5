"""A peer that runs as a process of its own, from the start to the end of its work."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import environment
from benchmarks.peers.protocol import Begin
from local.stages import CHECKOUT

TAIL = 2000  # characters of a log
PROGRAMS = Path(__file__).parent / "programs"
# No program asks anything outside of this machine.
QUIET = {
    "COCOINDEX_DISABLE_USAGE_TRACKING": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LANGSMITH_TRACING": "false",
    "OPENAI_API_KEY": "any",
    "OPENBLAS_NUM_THREADS": "1",
}


class ProgramError(Exception):
    """A program ended with an error; the text is the end of its log."""


class ProgramWork:
    """One process, in a group of its own."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path
    ) -> None:
        self._log = log = folder / "program.log"
        self._begin = folder / "begin.json"
        self._begin.unlink(missing_ok=True)
        self._code: int | None = None
        self._was_killed = False
        self._cpu_seconds = 0.0
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=CHECKOUT,
                env={**os.environ, **QUIET, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def is_over(self) -> bool:
        self._look(os.WNOHANG)
        if self._code not in (None, 0) and not self._was_killed:
            raise ProgramError(f"exit code {self._code}: {self._log.read_text()[-TAIL:]}")
        return self._code is not None

    def kill(self) -> bool:
        if self.is_over():
            return False
        self._was_killed = True
        os.killpg(self._process.pid, signal.SIGKILL)
        self._look(0)
        return True

    def begin(self) -> Begin:
        found = json.loads(self._begin.read_text())
        return Begin(found["at"], found["cpu_seconds"])

    def cpu_seconds(self) -> float:
        return self._cpu_seconds

    def _look(self, options: int) -> None:
        if self._code is not None:
            return
        # Not by Popen: its wait does not tell the CPU time.
        pid, status, usage = os.wait4(self._process.pid, options)
        if pid:
            self._code = self._process.returncode = os.waitstatus_to_exitcode(status)
            self._cpu_seconds = usage.ru_utime + usage.ru_stime


class Program:
    """A program of this folder, in the environment of a lock, with a folder of its own."""

    def __init__(self, lock: str, script: str, folder: Path, settings: Mapping[str, Any]) -> None:
        self._command = [str(environment(lock) / "bin/python"), str(PROGRAMS / script)]
        self._environment = {"PEER": json.dumps({**settings, "folder": str(folder)})}
        self._folder = folder

    def start(self) -> ProgramWork:
        """Start it."""
        return ProgramWork(self._command, self._environment, self._folder)
