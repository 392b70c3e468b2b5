"""Each zip asks for the packages that its function imports: none is missing, none is idle."""

import sys
from importlib.metadata import packages_distributions

import pytest

from infrastructure.function_table import FUNCTIONS
from scripts.import_walk import walk
from tests.repo.checkout import ROOT


def asked(function: str) -> set[str]:
    """Return the packages that a zip asks for by name."""
    lines = (ROOT / "requirements" / f"{function}.in").read_text().splitlines()
    return {line.split("[")[0] for line in lines if line and not line.startswith("#")}


def imported(function: str) -> set[str]:
    """Return the packages whose modules the function imports at run time."""
    providers = packages_distributions()
    foreign = walk(ROOT / "functions" / function / "handler.py", ROOT).foreign
    modules = set(foreign) - sys.stdlib_module_names
    return {name.lower().replace("_", "-") for module in modules for name in providers[module]}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_zip_asks_for_what_its_function_imports(function: str) -> None:
    """R01: each zip holds only what that function imports."""
    # botocore belongs to boto3, which pins it.
    assert imported(function) - {"botocore"} == asked(function)


def test_every_function_has_a_zip_and_a_lock() -> None:
    """R01: a new folder with a handler is built and locked like the others."""
    handlers = {path.parent.name for path in (ROOT / "functions").glob("*/handler.py")}

    assert handlers == set(FUNCTIONS)
