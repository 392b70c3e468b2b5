"""The peers' own virtual environments below build/, exactly as locked; never in .venv."""

import os
import re
import subprocess
import sys
from pathlib import Path

from local.stages import CHECKOUT
from scripts.setup import uv_environment

UV = Path(sys.executable).with_name("uv")


class NotInstalledError(Exception):
    """The packages of a lock could not be installed."""


def environment(lock: str) -> Path:
    """Return the environment of a lock in requirements/, made at its first use."""
    file, folder = CHECKOUT / f"requirements/{lock}.txt", CHECKOUT / "build" / lock
    stamp = folder / "lock.txt"
    if stamp.is_file() and stamp.read_text() == file.read_text():
        return folder
    print(f"installing the packages of requirements/{lock}.txt into build/{lock}, once", flush=True)
    steps: tuple[tuple[str | Path, ...], ...] = (
        ("venv", "--clear", "--python", sys.executable, folder),
        ("pip", "sync", "--require-hashes", "--python", folder / "bin/python", file),
    )
    for step in steps:
        command = [UV, *step, "--quiet"]
        if subprocess.run(command, check=False, env=uv_environment(os.environ)).returncode != 0:
            raise NotInstalledError(f"requirements/{lock}.txt: is the package index reachable?")
    stamp.write_text(file.read_text())
    return folder


def locked_version(lock: str, package: str) -> str:
    """Return the version of a package that a lock holds."""
    file = CHECKOUT / f"requirements/{lock}.txt"
    [found] = re.findall(rf"^{package}==(\S+)", file.read_text(), re.MULTILINE)
    return str(found)
