"""docs/requirements.md from requirements.toml and the tests that name its rows: `make docs`."""

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATH = ROOT / "docs" / "requirements.md"
LIST = ROOT / "docs" / "requirements.toml"
MOST_FILES = 4
OPENING = """\
# Requirements

What embedq must do, and the tests that show it: those files of `tests/` that name the row most \
often. "Owed" is what no test shows yet.
"""


def requirements_page(listed: str, tests: Mapping[str, str]) -> str:
    """Write the page from the list, and the tests by their path below tests/."""
    sections = tomllib.loads(listed)
    owed = sections.pop("owed")
    shown = shown_by(tests)
    known = {name for rows in sections.values() for name in rows}
    if unknown := sorted((shown.keys() | owed.keys()) - known):
        raise ValueError(f"not in docs/requirements.toml: {', '.join(unknown)}")
    page = OPENING
    for section, rows in sections.items():
        page += f"\n## {section}\n\n| id | requirement | shown by |\n|---|---|---|\n"
        for name, text in rows.items():
            page += f"| {name} | {text} | {_shown(shown.get(name), owed.get(name))} |\n"
    return page


def shown_by(tests: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Return for each id how many tests of which file name it."""
    found: dict[str, Counter[str]] = {}
    for path, text in sorted(tests.items()):
        for name in _named(ast.parse(text)):
            found.setdefault(name, Counter())[path] += 1
    return found


def _named(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield from set(re.findall(r"\bR\d{2}\b", ast.get_docstring(node) or ""))


def _shown(files: Counter[str] | None, owed: str | None) -> str:
    if files is None:
        return "owed"
    links = ", ".join(f"[{path}](../tests/{path})" for path, _ in files.most_common(MOST_FILES))
    more = " and more" if len(files) > MOST_FILES else ""
    return links + more + (f". Owed: {owed}" if owed else "")


def read_tests() -> dict[str, str]:
    """Return every test file of the checkout by its path below tests/."""
    folder = ROOT / "tests"
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("test_*.py")
    }


if __name__ == "__main__":
    PATH.write_text(requirements_page(LIST.read_text(), read_tests()))
    sys.stdout.write(f"{PATH}\n")
