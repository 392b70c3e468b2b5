"""The walk finds what a handler needs, and nothing more."""

from pathlib import Path

import pytest

from scripts.import_walk import walk, words


def tree(root: Path, **files: str) -> Path:
    """Write modules by dotted name and return the root."""
    for name, text in files.items():
        path = root / "functions" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for folder in [root / "functions", *(root / "functions").iterdir()]:
        if folder.is_dir():
            (folder / "__init__.py").touch()
    return root


def needed(root: Path) -> set[str]:
    """Return the own files that functions/a/handler.py needs."""
    return {file.as_posix() for file in walk(root / "functions/a/handler.py", root).own}


PACKAGES = {"functions/__init__.py", "functions/a/__init__.py", "functions/a/handler.py"}


@pytest.mark.parametrize(
    "line",
    [
        "from functions.core.task import Task",
        "from functions.core import task",
        "import functions.core.task",
        "import functions.core.task as renamed",
        "from ..core import task",
        "from ..core.task import Task",
        "def later():\n    from functions.core import task",
        "if True:\n    from functions.core import task",
    ],
)
def test_every_form_of_import_is_followed(tmp_path: Path, line: str) -> None:
    """R01: a module that the handler imports is in its zip, packages' own files too."""
    root = tree(tmp_path, a__handler=line, core__task="", core__unused="", b__handler="")

    assert needed(root) == PACKAGES | {"functions/core/__init__.py", "functions/core/task.py"}


def test_imports_are_followed_through_modules_and_in_circles(tmp_path: Path) -> None:
    """R01: what an imported module imports is in the zip as well."""
    root = tree(
        tmp_path,
        a__handler="from functions.core import one",
        core__one="from functions.core import two\nimport boto3",
        core__two="from functions.core import one\nimport json",
    )

    found = walk(root / "functions/a/handler.py", root)

    assert {Path("functions/core/one.py"), Path("functions/core/two.py")} <= found.own
    assert found.foreign["boto3"] == Path("functions/core/one.py")


def test_imports_for_the_type_checker_alone_are_left_out(tmp_path: Path) -> None:
    """R01: what only mypy reads is no reason to ship a package."""
    text = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import openai\n    from functions.core import task\n"
        "else:\n    import orjson\n"
    )
    root = tree(tmp_path, a__handler=text, core__task="")

    assert needed(root) == PACKAGES
    assert set(walk(root / "functions/a/handler.py", root).foreign) == {"typing", "orjson"}


def test_words_are_the_string_literals_of_a_file(tmp_path: Path) -> None:
    """R01: the AWS services a module names are found by their literal."""
    file = tmp_path / "module.py"
    file.write_text('import boto3\nclient = boto3.client("sqs", retries=3)\n')

    assert words(file) == {"sqs"}
