"""The report on mutants: what fails `make mutants`, and what is accepted."""

import tomllib
from collections import Counter
from contextlib import suppress
from pathlib import Path
from resource import RLIMIT_CPU, getrlimit
from types import SimpleNamespace
from typing import Any

import pytest

from scripts.mutants import (
    ROOT,
    Mutant,
    Report,
    changed_lines,
    pytest_runtest_protocol,
    read_accepted,
)

MUTANT = Mutant("functions/core/lane.py", "faster", "- return a < b\n+ return a <= b")
DIFF = """\
--- functions/core/lane.py
+++ functions/core/lane.py
@@ -1,2 +1,2 @@
 def faster(a, b):
-    return a < b
+    return a <= b"""


def report(*survivors: Mutant, killed: int = 99) -> Report:
    count = Counter({"killed": killed, "survived": len(survivors), "by types": 40})
    return Report({MUTANT.module: count}, survivors)


def test_survivor_without_a_reason_is_a_problem() -> None:
    """R86: a change that no test notices is shown as it would be accepted."""
    [problem] = report(MUTANT).problems([])

    assert problem == ("survived: functions/core/lane.py\nfaster\n- return a < b\n+ return a <= b")


def test_accepted_survivor_is_no_problem() -> None:
    """R86: some changes make no difference."""
    assert report(MUTANT).problems([MUTANT]) == []


def test_reason_without_a_survivor_is_a_problem() -> None:
    """R86: the list does not outlive the code; what was not run is left alone."""
    elsewhere = Mutant("functions/core/task.py", "f", "- a\n+ b")

    [problem] = report().problems([MUTANT, elsewhere])

    assert problem.startswith("accepted, but does not survive any more: functions/core/lane.py")


@pytest.mark.parametrize(("killed", "found"), [(9, 0), (8, 1)])
def test_nine_of_ten_must_be_killed(killed: int, found: int) -> None:
    """R86: what the types refuse counts for neither side."""
    problems = report(MUTANT, killed=killed).problems([MUTANT])

    assert len(problems) == found


def test_table_has_each_module_and_all() -> None:
    """R86: killed, survived and refused, in one line each."""
    line = "99 killed     1 survived    40 refused by types   99%"

    assert report(MUTANT).lines() == [
        f"functions/core/lane.py     {line}",
        f"all                        {line}",
    ]


def test_change_is_named_by_its_lines() -> None:
    """R86: not by a number, which another change of the function would move."""
    assert changed_lines(DIFF) == MUTANT.change


def test_accepted_ones_are_read_with_their_reasons(tmp_path: Path) -> None:
    """R86: one reason for several changes."""
    file = tmp_path / "mutants.toml"
    change = f"{MUTANT.module}\n{MUTANT.function}\n{MUTANT.change}"
    file.write_text(f'[[reason]]\nwhy = "equal"\nchanges = ["""\n{change}\n"""]\n')

    assert read_accepted(file) == [MUTANT]


def test_every_accepted_mutant_names_a_module() -> None:
    """R86: the committed list can be read, and its modules exist."""
    assert all((ROOT / mutant.module).is_file() for mutant in read_accepted())


def test_tests_that_mutants_run_are_there() -> None:
    """R86: pytest refuses to run at all where one is not."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    chosen = settings["pytest_add_cli_args_test_selection"] + settings["pytest_add_cli_args"]
    paths = [path for path in chosen if path.startswith("tests/")]

    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert len(paths) > 5


A_MUTANT = "functions.core.lane.x_faster__mutmut_3"


@pytest.mark.parametrize(
    ("name", "seconds", "has_limit", "left"),
    [("stats", 0, False, 3), (A_MUTANT, 10**9, True, 3), (A_MUTANT, 0, True, 1)],
)
def test_only_the_tests_of_a_mutant_have_limits(
    name: str, seconds: int, has_limit: bool, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R86: a slow test must not end mutmut itself while it finds out which tests reach what."""
    monkeypatch.setenv("MUTANT_UNDER_TEST", name)
    monkeypatch.setattr("scripts.mutants.MUTANT_SECONDS", seconds)
    before = getrlimit(RLIMIT_CPU)
    items: list[Any] = [SimpleNamespace() for _ in range(3)]
    items[0].session = SimpleNamespace(items=items)
    running = pytest_runtest_protocol(items[0])

    next(running)
    during = getrlimit(RLIMIT_CPU)
    with suppress(StopIteration):
        running.send(None)

    assert (during != before, len(items)) == (has_limit, left)
    assert getrlimit(RLIMIT_CPU) == before
