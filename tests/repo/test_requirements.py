"""The requirements page says what the list and the tests say, and notices what is missing."""

import pytest

from scripts.requirements_doc import LIST, PATH, read_tests, requirements_page

LISTED = """
["The flow"]
R01 = "deploys"
R02 = "is triggered"
R03 = "never waits"
[owed]
R02 = "existing tables"
"""
TESTS = {
    "a/test_x.py": 'def test_a():\n    """R01 R02: both."""\ndef test_b():\n    """R01: one."""\n',
    "test_y.py": 'def helper():\n    """R03: is no test."""\n',
}


def row(page: str, name: str) -> str:
    """Return what the page says of one row."""
    [line] = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
    return line.split(" | ")[-1].removesuffix(" |")


def test_page_is_that_of_the_list_and_the_tests() -> None:
    """Requirements: `make docs` writes it."""
    is_current = PATH.read_text() == requirements_page(LIST.read_text(), read_tests())

    assert is_current, "run: make docs"


def test_row_names_its_tests_and_what_is_owed() -> None:
    """Requirements: a row that no test names is owed, whatever else mentions it."""
    page = requirements_page(LISTED, TESTS)

    assert row(page, "R01") == "[a/test_x.py](../tests/a/test_x.py)"
    assert row(page, "R02") == "[a/test_x.py](../tests/a/test_x.py). Owed: existing tables"
    assert row(page, "R03") == "owed"


def test_id_that_is_not_listed_is_refused() -> None:
    """Requirements: a wrong number in a docstring would show nothing."""
    tests = {"test_z.py": 'def test_a():\n    """R99: what is it?"""\n'}

    with pytest.raises(ValueError, match=r"not in docs/requirements\.toml: R99"):
        requirements_page(LISTED, tests)


def test_files_with_most_tests_come_first_and_not_all_are_listed() -> None:
    """Requirements: the page stays readable."""
    one = 'def test_a():\n    """R01: one."""\n'
    tests = {f"test_{name}.py": one for name in "abcde"} | {
        "test_z.py": one + one.replace("_a", "_b")
    }

    assert row(requirements_page(LISTED, tests), "R01").startswith("[test_z.py]")
    assert row(requirements_page(LISTED, tests), "R01").endswith(
        "[test_c.py](../tests/test_c.py) and more"
    )
