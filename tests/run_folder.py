"""One folder per test run, for what its worker processes share: made by the first that asks."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def run_folder(tmp: pytest.TempPathFactory) -> Path:
    """Return the folder of the test run; each worker of pytest-xdist has its own one in it."""
    base = tmp.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(tmp: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder of the test run that one process fills and all others find."""
    folder = run_folder(tmp) / name
    with FileLock(folder.with_name(f"{name}.lock")):
        if not folder.exists():
            part = folder.with_name(f"{name}.part")
            part.mkdir()
            make(part)
            part.rename(folder)
    return folder


def hold_as_user(path: Path) -> Callable[[], None]:
    """Hold a lock beside other users; return what releases it, as the end of the process does."""
    file = path.open("a")
    fcntl.flock(file, fcntl.LOCK_SH)
    return file.close


def wait_for_users(path: Path) -> None:
    """Return when no user holds the lock any more."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
