"""The report on mutants: what fails `make mutants`, and what is accepted."""

from collections import Counter
from pathlib import Path

import pytest

from scripts.mutants import ROOT, Mutant, Report, changed_lines, read_accepted

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
