"""Build one package per function: locked wheels plus the modules its handler really imports.

The same inputs give the same bytes; unchanged inputs cost nothing.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from infrastructure.function_table import FUNCTIONS
from scripts import import_walk, package_folder

ROOT = Path(__file__).resolve().parent.parent
# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
LAMBDA_UNZIPPED_LIMIT_BYTES = 250 * 1024 * 1024
RUNTIME = "3.13"
# Amazon Linux 2023, which python3.13 runs on, has glibc 2.34.
LAMBDA_WHEELS = ("--python-platform", "aarch64-manylinux_2_28", "--python-version", RUNTIME)
# Where Lambda unpacks a zip: what a traceback names.
LAMBDA_FOLDER = "/var/task"
BUILDERS = tuple(Path(__file__).with_name(name) for name in ("build_zips.py", "package_folder.py"))


class BuildError(Exception):
    """A package cannot be built; the text says why and what to do."""


@dataclass(frozen=True)
class Package:
    """One function's package: what goes in and where it ends."""

    function: str
    root: Path
    platform: str

    @property
    def lock(self) -> Path:
        """Return the lock of its wheels."""
        return self.root / "requirements" / f"{self.function}.txt"

    @property
    def target(self) -> Path:
        """Return the zip for Lambda, or the folder for this machine."""
        name = f"{self.function}.zip" if self.platform == "lambda" else self.function
        return self.root / "build" / self.platform / name

    @property
    def stamp(self) -> Path:
        """Return the file that remembers the inputs of the last build."""
        return self.target.with_name(f"{self.function}.stamp")

    def walk(self) -> import_walk.Walk:
        """Follow the handler's imports."""
        handler = self.root / "functions" / self.function / "handler.py"
        if not handler.is_file():
            raise BuildError(f"functions/{self.function}/handler.py is missing")
        return import_walk.walk(handler, self.root)


@dataclass(frozen=True)
class Report:
    """What one build made."""

    package: Package
    unzipped_bytes: int
    fresh: bool


@dataclass(frozen=True)
class Compiler:
    """A Python whose bytecode the runtime of Lambda takes."""

    python: str
    version: str


@cache
def compiler() -> Compiler | None:
    """Find a Python of the runtime's version: this one, or one on the path."""
    ask = "import sys; print('{}.{} {}'.format(*sys.version_info[:2], sys.version.split()[0]))"
    for python in (sys.executable, shutil.which(f"python{RUNTIME}")):
        if python is None:
            continue
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
        minor, _, version = done.stdout.strip().partition(" ")
        if minor == RUNTIME:
            return Compiler(python, version)
    return None


def build(package: Package) -> Report:
    """Build one package unless the last build had the same inputs."""
    walk = package.walk()
    wanted = fingerprint(package, walk.own)
    if package.target.exists() and package.stamp.is_file():
        known, _, known_size = package.stamp.read_text().partition(" ")
        if known == wanted:
            return Report(package, int(known_size), fresh=False)
    package.stamp.unlink(missing_ok=True)
    work = package.target.with_name(f"{package.function}.work")
    fill(work, package, walk)
    size = package_folder.unzipped_bytes(work)
    check_size(package, size)
    publish(work, package)
    package.stamp.write_text(f"{wanted} {size}")
    return Report(package, size, fresh=True)


def fingerprint(package: Package, own: Iterable[Path]) -> str:
    """Name the inputs of a package."""
    by = compiler() if package.platform == "lambda" else None
    digest = hashlib.sha256(f"{package.platform} {sys.version_info[:2]} {by}".encode())
    own_files = [package.root / file for file in sorted(own)]
    for path in (package.lock, *own_files, *BUILDERS):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def fill(work: Path, package: Package, walk: import_walk.Walk) -> None:
    """Put wheels and our modules into an empty folder, and nothing else."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    install_wheels(work, package)
    literals = set().union(*(import_walk.words(package.root / file) for file in walk.own))
    package_folder.thin(work, services=literals)
    check_imports(work, package, walk)
    for file in sorted(walk.own):
        (work / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(package.root / file, work / file)
    if package.platform == "lambda" and (by := compiler()):
        compile_modules(work, by)


def compile_modules(work: Path, by: Compiler) -> None:
    """Add bytecode: Lambda's folder is read-only, so each cold start would compile everything."""
    options = ["-qq", "--invalidation-mode", "unchecked-hash", "-s", str(work)]
    command = [by.python, "-m", "compileall", *options, "-p", LAMBDA_FOLDER, str(work)]
    # With random hashes the order inside a set would differ from build to build.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    if subprocess.run(command, env=environment, check=False).returncode != 0:
        raise BuildError(f"{by.python} cannot compile every module of {work.name}")


def install_wheels(work: Path, package: Package) -> None:
    """Install the locked wheels of the wanted platform."""
    uv = os.environ.get("UV", str(Path(sys.executable).with_name("uv")))
    wheels = LAMBDA_WHEELS if package.platform == "lambda" else ("--python", sys.executable)
    command = [uv, "pip", "install", "--quiet", "--target", str(work), *wheels]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(package.lock)]
    if subprocess.run(command, check=False).returncode != 0:
        raise BuildError(f"the wheels of requirements/{package.function}.txt cannot be installed")


def check_imports(work: Path, package: Package, walk: import_walk.Walk) -> None:
    """Refuse a package in which a module would miss what it imports."""
    known = package_folder.top_level_names(work) | sys.stdlib_module_names
    missing = sorted(set(walk.foreign) - known)
    if missing:
        lines = [f"{walk.foreign[name]} imports {name}" for name in missing]
        raise BuildError(
            f"requirements/{package.function}.txt lacks packages: {'; '.join(lines)}."
            f" Add them to requirements/{package.function}.in and run: make lock"
        )


def check_size(package: Package, size: int) -> None:
    """Refuse a package that Lambda would refuse."""
    if size > LAMBDA_UNZIPPED_LIMIT_BYTES:
        raise BuildError(
            f"{package.function} has {size:,} bytes unzipped,"
            f" Lambda takes {LAMBDA_UNZIPPED_LIMIT_BYTES:,}"
        )


def publish(work: Path, package: Package) -> None:
    """Put the finished package in the place of the last one."""
    if package.platform == "lambda":
        package_folder.write_zip(work, package.target)
        shutil.rmtree(work)
        return
    shutil.rmtree(package.target, ignore_errors=True)
    work.rename(package.target)


def table(reports: Iterable[Report]) -> str:
    """Return the sizes, one line per function."""
    lines = [f"{'function':<14}{'zip MB':>9}{'unzipped MB':>13}{'of limit':>10}"]
    for report in reports:
        target = report.package.target
        zipped = f"{target.stat().st_size / 1e6:.1f}" if target.is_file() else "-"
        share = report.unzipped_bytes / LAMBDA_UNZIPPED_LIMIT_BYTES
        line = f"{report.package.function:<14}{zipped:>9}{report.unzipped_bytes / 1e6:>13.1f}"
        lines.append(f"{line}{share:>10.0%}{'' if report.fresh else '   unchanged'}")
    return "\n".join(lines)


def bytecode() -> str:
    """Say whether the zips hold bytecode."""
    if by := compiler():
        return f"with bytecode of Python {by.version}"
    return f"without bytecode, which makes cold starts slower: no python{RUNTIME} is on the path"


def main(arguments: list[str] | None = None) -> int:
    """Build every package and print the sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--platform", choices=("lambda", "local"), default="lambda")
    parser.add_argument("function", nargs="*", default=list(FUNCTIONS), help="default: all")
    options = parser.parse_args(arguments)
    try:
        packages = [Package(name, ROOT, options.platform) for name in options.function]
        print(table([build(package) for package in packages]))
        if options.platform == "lambda":
            print(bytecode())
    except BuildError as error:
        print(f"build: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
