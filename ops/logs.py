"""What the functions of the local stack have logged."""

import time
from collections.abc import Callable

from local import background
from ops.deployment import UsageError

LOOK_SECONDS = 0.3


def show(function: str | None, *, follow: bool, say: Callable[[str], None]) -> None:
    """Print the functions' log lines, and go on with the new ones if asked to."""
    found = background.find_any()
    folder = (found[0] if found else background.FOLDER) / "runner" / "logs"
    told: dict[str, int] = {}
    while True:
        paths = sorted(p for p in folder.glob("*.log") if function is None or function in p.stem)
        if not paths and not follow:
            raise UsageError(
                f"no function{f' with {function!r} in its name' if function else ''} has logged"
                " anything here yet: is the stack up?"
            )
        for path in paths:
            lines = path.read_text(errors="replace").splitlines()
            for line in lines[told.get(path.stem, 0) :]:
                say(line)
            told[path.stem] = len(lines)
        if not follow:
            return
        time.sleep(LOOK_SECONDS)
