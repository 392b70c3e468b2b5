"""A process that owns one small engine, for tests that kill it: `python -m ... FOLDER [USER]`."""

import os
import signal
import sys
import threading
from pathlib import Path

from local.engines.places import Place
from local.engines.supervise import EngineProcess, Job

# The engine starts a process of its own, which must not survive either.
COMMAND = ("/bin/sh", "-c", "sleep 600 & echo $!; wait")


def main(folder: Path, mode: str) -> None:
    """Start the engine in a thread that ends, tell every pid, stop when told or interrupted."""
    # A shell's background job inherits that Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log = folder / "engine.log"
    log.touch()
    user = 65534 if mode == "as-nobody" else None
    job = Job("engine", COMMAND, Place(folder, log), user, grace_seconds=1.0)
    started: list[EngineProcess] = []
    # The kernel's own "die with your parent" means the parent thread: this one ends at once.
    thread = threading.Thread(target=lambda: started.append(EngineProcess(job)))
    thread.start()
    thread.join()
    engine = started[0]
    holder = fork_a_child_that_keeps_every_pipe_open() if mode == "with-forked-child" else 0
    while not (grandchild := log.read_text().strip()):
        pass
    try:
        tell(f"{engine.watcher_pid} {engine.pid} {grandchild} {holder}")
        sys.stdin.readline()
    except KeyboardInterrupt:
        tell("interrupted")
    engine.stop()


def tell(line: str) -> None:
    """Write a line to the test."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def fork_a_child_that_keeps_every_pipe_open() -> int:
    """Fork, as multiprocessing may do, a child that outlives its parent."""
    child = os.fork()
    if child == 0:
        threading.Event().wait(60)
        os._exit(0)
    return child


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
