"""Which folder may import which: the contracts of import-linter in pyproject.toml, seen failing."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scripts.import_walk import walk
from tests.repo.checkout import ROOT, files

LINTER = Path(sys.executable).with_name("lint-imports")
RULES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
HEAVY = {"openai", "opensearchpy", "numpy", "orjson", "semantic_text_splitter"}
# A file, and a line that does not belong there.
WRONG = [
    ("functions/core/task.py", "import boto3"),
    ("functions/core/failure.py", "def f():\n    import openai"),
    (
        "functions/core/lane.py",
        "if TYPE_CHECKING:\n    from mypy_boto3_sqs import SQSClient",
    ),
    ("functions/core/document.py", "from functions.adapters import sqs_tasks"),
    ("functions/core/entry.py", "from ..enqueue import plan"),
    ("functions/embed/process.py", "from functions.adapters.sqs_tasks import SqsTasks"),
    ("functions/embed/chunking.py", "from ..enqueue import plan"),
    ("functions/embed/packing.py", "def f():\n    import botocore"),
    ("functions/adapters/sqs_tasks.py", "import functions.embed.process"),
    ("functions/embed/handler.py", "from ops import cli"),
    ("functions/enqueue/handler.py", "from functions.sweep.process import Sweep"),
    ("functions/sweep/handler.py", "from functions.enqueue.plan import plan"),
    ("functions/sweep/replay.py", "from functions.enqueue.process import Enqueue"),
    ("functions/breaker/process.py", "import local.specs"),
    ("infrastructure/app.py", "from functions.adapters import sqs_tasks"),
    ("infrastructure/pipeline.py", "from functions.embed import process"),
    ("infrastructure/lanes.py", "import scripts.lock"),
    ("local/specs.py", "from ops.deployment import Deployment"),
    ("ops/dead_letters.py", "from local.memory import pipeline"),
    ("scripts/lock.py", "import local.stack"),
    ("local/stack.py", "from tests import builders"),
]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of a checkout."""
    return subprocess.run(
        [LINTER, "--no-cache", "--no-logo"], cwd=root, capture_output=True, text=True, check=False
    )


def module(file: str) -> str:
    """Return the dotted name of a file."""
    return file.removesuffix(".py").replace("/", ".")


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the linter says of a copy of this checkout with every wrong line in it."""
    copy = tmp_path_factory.mktemp("wrong")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for path in files("*.py"):
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for file, line in WRONG:
        assert (copy / file).exists()
        with (copy / file).open("a") as text:
            text.write(f"\n{line}\n")
    return lint(copy).stdout


def test_every_import_points_the_allowed_way() -> None:
    """Layout: the rules of pyproject.toml hold."""
    done = lint(ROOT)

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", [file for file, _ in WRONG])
def test_an_import_in_the_wrong_direction_is_named(wrong: str, file: str) -> None:
    """Layout: whichever way it is written."""
    assert f"{module(file)} -> " in wrong


def test_every_rule_can_be_broken(wrong: str) -> None:
    """Layout: no rule is there that holds whatever is written."""
    assert f"0 kept, {len(RULES['contracts'])} broken" in wrong


def test_every_folder_with_code_has_rules() -> None:
    """Layout: a new folder of the checkout, or a new function, needs a place in them."""
    folders = {path.relative_to(ROOT).parts[0] for path in files("*/*.py")} - {"tests"}
    functions = {path.parent.name for path in files("functions/*/handler.py")}
    names = {f"functions.{name}" for name in functions}
    contracts = {rule["name"]: rule for rule in RULES["contracts"]}

    assert folders == set(RULES["root_packages"])
    sdks = contracts["Of a function only its handler names an SDK"]["source_modules"]
    assert set(sdks) == names | {"functions.core"}
    hidden = contracts[
        "The stack knows only the core of the functions, and the limits of the provider"
    ]["forbidden_modules"]
    assert set(hidden) == names | {"functions.adapters"}


def test_enqueue_never_loads_the_heavy_packages() -> None:
    """Layout: the function that runs on every write stays small."""
    needed = walk(ROOT / "functions/enqueue/handler.py", ROOT).foreign

    assert HEAVY & set(needed) == set()
