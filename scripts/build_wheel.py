"""Build the wheel: one package `embedq` with the construct, the command and the functions' zips.

A module keeps its place below `embedq`, and its imports of our other modules name them there.
The same inputs give the same bytes.
"""

import argparse
import ast
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from embedq import __version__
from infrastructure.function_code import zips
from scripts.import_walk import Walk, walk

ROOT = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).with_name("uv")
NAME = "embedq"
COMMAND = Path("ops/__main__.py")
PUBLIC = Path(NAME, "__init__.py")
# One-machine mode runs from a checkout, with engines and packages that no deployment needs.
LEFT_OUT = ("local", "ops/demo", "ops/local_logs.py")
# Only `embedq eval` and the gate of a migration load it, and it brings scipy.
MEASURES = {"ir-measures"}
# Read at run time, by no import.
DATA = (
    "infrastructure/placeholder_code/README.md",
    "ops/console/static/*",
    "ops/console/templates/*",
)
PROJECT = """\
[project]
name = "{name}"
version = "{version}"
description = "Every write to a DynamoDB table becomes searchable in OpenSearch"
readme = "README.md"
requires-python = ">=3.11"
license = "Apache-2.0"
license-files = ["LICENSE"]
dependencies = [{command}]

[project.optional-dependencies]
cdk = [{construct}]
eval = [{measures}]

[project.scripts]
embedq = "embedq.ops.__main__:main"

[build-system]
requires = ["uv_build"]
build-backend = "uv_build"
"""


def build(folder: Path, code: Path) -> Path:
    """Build the wheel into a folder, with the zips of `code`, and return it."""
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    fill(source, code)
    done = subprocess.run(
        [UV, "build", "--quiet", "--offline", "--wheel", "--out-dir", folder, source], check=False
    )
    if done.returncode != 0:
        raise SystemExit("wheel: uv could not build it, see above")
    shutil.rmtree(source)
    return folder / f"{NAME}-{__version__}-py3-none-any.whl"


def fill(source: Path, code: Path) -> None:
    """Write everything that the wheel is made of."""
    package = source / "src" / NAME
    # What is public is loaded when it is asked for: the command does without the CDK.
    command = walk(ROOT / COMMAND, ROOT, (*LEFT_OUT, str(PUBLIC)))
    public = walk(ROOT / PUBLIC, ROOT, LEFT_OUT)
    for file in sorted(command.own | public.own):
        write(package / place(file), inside(file))
    for path in sorted(path for pattern in DATA for path in ROOT.glob(pattern)):
        write(package / path.relative_to(ROOT), path.read_text())
    for path in zips(code).values():
        (package / "zips").mkdir(exist_ok=True)
        shutil.copyfile(path, package / "zips" / path.name)
    write(package / "py.typed", "")
    for name in ("README.md", "LICENSE"):
        write(source / name, (ROOT / name).read_text())
    needed = packages(command)
    asked = {
        "command": needed - MEASURES,
        "construct": packages(public) - needed,
        "measures": needed & MEASURES,
    }
    lists = {
        name: ", ".join(f'"{one}"' for one in map(at_least, sorted(found)))
        for name, found in asked.items()
    }
    write(source / "pyproject.toml", PROJECT.format(name=NAME, version=__version__, **lists))


def place(file: Path) -> Path:
    """Return where a file stands in the package: below it, or in it from the start."""
    return file.relative_to(NAME) if file.parts[0] == NAME else file


def inside(file: Path) -> str:
    """Return a module as it stands in the package: imports of ours begin with its name."""
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import) and any(is_ours(alias.name) for alias in node.names):
            # Below the package it would bind another name.
            raise SystemExit(f"wheel: {file}, line {node.lineno}: write `from x import y`")
        if isinstance(node, ast.ImportFrom) and node.module and is_ours(node.module):
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line.replace("from ", f"from {NAME}.", 1)
    return "".join(lines)


def is_ours(module: str) -> bool:
    """Tell a module that goes below the package from those of others."""
    folder = module.split(".")[0]
    return folder != NAME and (ROOT / folder).is_dir()


def packages(found: Walk) -> set[str]:
    """Return the packages of others that modules import and that requirements/*.in name."""
    providers = packages_distributions()
    asked = {
        line.partition("[")[0].partition("=")[0]
        for path in (ROOT / "requirements").glob("*.in")
        for line in path.read_text().splitlines()
    }
    modules = set(found.foreign) - sys.stdlib_module_names
    return asked & {
        name.lower().replace("_", "-") for module in modules for name in providers[module]
    }


def at_least(package: str) -> str:
    """Ask for a package from the version on that the tests ran with; the oldest, if several."""
    lock = (ROOT / "requirements/dev.txt").read_text()
    versions = re.findall(rf"^{re.escape(package)}==([^ ]+)", lock, re.MULTILINE)
    oldest = min(versions, key=lambda version: [int(part) for part in version.split(".")])
    return f"{package}>={oldest}"


def write(path: Path, text: str) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Build the wheel and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--code", type=Path, default=ROOT / "build/lambda", help="the zips")
    parser.add_argument("--to", type=Path, default=ROOT / "build/wheel", help="the folder")
    options = parser.parse_args(arguments)
    made = build(options.to, options.code)
    print(f"{made.relative_to(ROOT) if made.is_relative_to(ROOT) else made}", end=" ")
    print(f"({made.stat().st_size / 1e6:.1f} MB): pip install '{made.name}[cdk]'")
    return 0


if __name__ == "__main__":
    sys.exit(main())
