"""Who may import whom inside functions/: handler -> step -> core, adapters -> core."""

from pathlib import Path

import pytest

from scripts.import_walk import imports, walk
from tests.repo.checkout import ROOT

SDKS = ("boto3", "botocore", "mypy_boto3", "openai", "opensearchpy")
HEAVY = {"openai", "opensearchpy", "numpy", "orjson", "semantic_text_splitter"}
OUTSIDE_THE_ZIP = ("local", "ops", "infrastructure", "scripts", "tests", "benchmarks")


def allowed(file: Path) -> tuple[str, ...]:
    """Return the packages of ours that a file of functions/ may import."""
    folder = file.parts[1] if len(file.parts) > 2 else ""
    if folder == "core":
        return ("functions.core",)
    if folder == "adapters":
        return ("functions.core", "functions.adapters")
    if file.name == "handler.py":
        return ("functions.core", "functions.adapters", f"functions.{folder}", *borrowed(file))
    return ("functions.core", f"functions.{folder}")


def borrowed(file: Path) -> tuple[str, ...]:
    """Return another function's step that a handler composes."""
    # A change that the stream gave up passes the very step that it would have passed in time.
    return ("functions.enqueue.process",) if file.parts[1] == "sweep" else ()


def may_see_sdks(file: Path) -> bool:
    """Tell whether SDKs may be named here: only where the outside begins."""
    return file.name == "handler.py" or file.parts[1] == "adapters"


def starts_with(name: str, packages: tuple[str, ...]) -> bool:
    """Tell whether a dotted name is one of the packages or inside one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def violations(root: Path) -> list[str]:
    """Return every import of functions/ that points the wrong way."""
    found = []
    for path in sorted((root / "functions").rglob("*.py")):
        file = path.relative_to(root)
        for name in sorted(imports(path, root, typing_too=True)):
            ours = name.split(".")[0] == "functions"
            if (
                starts_with(name, OUTSIDE_THE_ZIP)
                or (ours and not starts_with(name, allowed(file)))
                or (name.split(".")[0].startswith(SDKS) and not may_see_sdks(file))
            ):
                found.append(f"{file.as_posix()} imports {name}")
    return found


def test_functions_import_only_in_the_drawn_direction() -> None:
    """Layout: core stays pure, steps see only core, nothing outside the zip is named."""
    assert violations(ROOT) == []


def test_enqueue_never_loads_the_heavy_packages() -> None:
    """Layout: the function that runs on every write stays small."""
    needed = walk(ROOT / "functions/enqueue/handler.py", ROOT).foreign

    assert HEAVY & set(needed) == set()


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("core/task.py", "import boto3"),
        ("core/task.py", "if TYPE_CHECKING:\n    from mypy_boto3_sqs import SQSClient"),
        ("core/task.py", "from functions.adapters import sqs_tasks"),
        ("embed/process.py", "from functions.adapters.sqs_tasks import send"),
        ("embed/process.py", "from ..enqueue import plan"),
        ("embed/process.py", "def f():\n    import openai"),
        ("adapters/sqs_tasks.py", "import functions.embed.process"),
        ("embed/handler.py", "from ops import cli"),
        ("embed/handler.py", "from functions.enqueue.plan import plan"),
        ("sweep/handler.py", "from functions.enqueue.plan import plan"),
        ("sweep/replay.py", "from functions.enqueue.process import Enqueue"),
    ],
)
def test_an_import_in_the_wrong_direction_is_named(tmp_path: Path, file: str, line: str) -> None:
    """Layout: the walk sees every way to write an import."""
    target = tmp_path / "functions" / file
    target.parent.mkdir(parents=True)
    target.write_text(f"{line}\n")

    assert [found.split(" imports ")[0] for found in violations(tmp_path)] == [f"functions/{file}"]
