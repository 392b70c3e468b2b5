"""A process that owns one small child, for tests that kill it: `python -m ... FOLDER MODE`."""

import os
import signal
import sys
import threading
from pathlib import Path

from local.processes import Process, Processes, Program

# The child starts a process of its own, which must not survive either.
COMMAND = ("/bin/sh", "-c", "sleep 600 & echo $!; wait")


def main(folder: Path, mode: str) -> None:
    """Start the child in a thread that ends, write every pid, stop when asked or interrupted."""
    # A shell's background job inherits that Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log = folder / "child.log"
    log.touch()
    user = 65534 if mode == "as-nobody" else None
    program = Program(COMMAND, folder, {"PATH": "/usr/bin:/bin"}, log, user, grace_seconds=1.0)
    processes = Processes()
    started: list[Process] = []
    # The kernel's own "die with your parent" means the parent thread: this one ends at once.
    thread = threading.Thread(target=lambda: started.append(processes.start(program)))
    thread.start()
    thread.join()
    child = started[0]
    holder = fork_a_child_that_keeps_every_pipe_open() if mode == "with-forked-child" else 0
    while not (grandchild := log.read_text().strip()):
        pass
    try:
        write(f"{processes.supervisor_pid} {child.pid} {grandchild} {holder}")
        sys.stdin.readline()
    except KeyboardInterrupt:
        write("interrupted")
    processes.close()


def write(line: str) -> None:
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
