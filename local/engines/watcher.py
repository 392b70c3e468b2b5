"""Run one engine and end it with its owner, however that ends: a script of the standard library.

The owner holds the other end of our standard input. The kernel closes it when the owner exits,
also by SIGKILL, and that is the word to stop the engine. Should this watcher itself be killed,
Linux kills the engine (PR_SET_PDEATHSIG).
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
# A forked child of the owner may hold the pipe open after the owner's end: look at the parent too.
PARENT_CHECK_SECONDS = 1.0


def die_with_watcher(watcher: int) -> None:
    """Ask Linux, in the engine's process before its program starts, to kill it with the watcher.

    The kernel forgets the request when the user changes, so it must come after setuid, which is
    where subprocess calls this. It is bound to the thread that forked: the watcher has only one.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != watcher:  # It ended before the request was made.
        os._exit(1)


def watch(engine: "subprocess.Popen[bytes]", owner: int) -> None:
    """Return when the engine has ended, the owner has gone or said stop."""
    while engine.poll() is None and os.getppid() == owner:
        readable, _, _ = select.select([0], [], [], PARENT_CHECK_SECONDS)
        if readable and not os.read(0, 1024):
            return


def start(job: Mapping[str, Any]) -> "subprocess.Popen[bytes]":
    """Start a program in a group of its own that ends with this process."""
    with Path(job["log"]).open("ab") as log:
        return subprocess.Popen(
            job["command"],
            cwd=job["folder"],
            env=job["environment"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(die_with_watcher, os.getpid()),
            **job.get("identity", {}),
        )


def signal_group(leader: "subprocess.Popen[bytes]", number: int) -> None:
    """Send a signal to a program and to whatever it started; they may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader.pid, number)


def stop(engine: "subprocess.Popen[bytes]", grace_seconds: float) -> None:
    """End the engine and whatever it started, kindly first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        signal_group(engine, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            engine.wait(grace_seconds)


def main(job: dict[str, Any]) -> int:
    """Start the engine, tell its pid, watch it, stop it."""
    owner = os.getppid()
    engine = start(job)
    # Only now: a signal before this line ends us at once, and PDEATHSIG the engine.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        print(engine.pid, flush=True)
        watch(engine, owner)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        stop(engine, job["grace_seconds"])
        if job["remove"]:
            shutil.rmtree(job["remove"], ignore_errors=True)
    return engine.returncode


if __name__ == "__main__":
    sys.exit(abs(main(json.loads(sys.argv[1]))))
