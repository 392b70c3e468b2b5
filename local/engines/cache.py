"""Where fetched files live for this user, and the lock that lets two processes share them."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """Return EMBEDQ_CACHE, else the user's cache folder by the XDG rule."""
    if chosen := os.environ.get("EMBEDQ_CACHE"):
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG rule: a relative path in the variable is to be ignored.
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "embedq"


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock that the kernel releases even if this process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
