"""When a program begins its work, after Python has loaded it."""

import json
import time
from pathlib import Path
from typing import Any


def note_begin(peer: dict[str, Any]) -> None:
    """Leave the time, of the machine's own clock, and the CPU time that loading took."""
    begin = {"at": time.monotonic(), "cpu_seconds": time.process_time()}
    Path(peer["folder"], "begin.json").write_text(json.dumps(begin))
