"""A runner in a process of its own that is killed: `python -m` it with its folder."""

import signal
import sys
import threading
from pathlib import Path

from local.runner.runner import Runner
from tests.unit.local.runner.conftest import call, sample_function, sample_place

if __name__ == "__main__":
    # A shell's background job inherits that Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(sys.argv[1])
    runner = Runner(sample_place(folder), [sample_function(folder, timeout_seconds=600)])
    runner.start()
    call(runner, {})
    busy = threading.Thread(target=call, args=(runner, {"do": "spawn"}), name="busy", daemon=True)
    busy.start()
    sys.stdout.write(f"{runner.pids('sample')[0]} {runner.supervisor_pid}\n")
    sys.stdout.flush()
    sys.stdin.read()
