"""Change the decisions of the functions one by one; each change must fail a test or be accepted.

mutmut makes the changes ("mutants") and runs the tests that reach each of them. What survives must
be in docs/mutants.toml with its reason, and enough must be killed.
"""

import argparse
import shutil
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from resource import RLIMIT_CPU, getrlimit, setrlimit
from time import process_time

import pytest
from mutmut.core import MutmutCallStack
from mutmut.mutation import trampoline
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.utils.format_utils import orig_function_and_class_names_from_key

ROOT = Path(__file__).resolve().parent.parent
ACCEPTED = ROOT / "docs" / "mutants.toml"
LEAST_KILLED = 0.9
SURVIVED = "survived"
MUTANT_MARK = "__mutmut_"  # in the name of each
# Of the processor: by the clock, a busy machine would look like a change that never ends.
TEST_SECONDS = 10
# For all tests of one mutant, the quickest first: what they do not notice has survived.
MUTANT_SECONDS = 20
# By mutmut's own words for what became of a mutant; any other word means that it survived.
FATES = {
    "killed": "killed",
    "timeout": "killed",
    "segfault": "killed",
    "caught by type check": "by types",
    "not checked": "not checked",
}


@dataclass(frozen=True)
class Mutant:
    """One change of one function."""

    module: str
    function: str
    change: str


@dataclass(frozen=True)
class Report:
    """What became of the mutants of a run."""

    counts: dict[str, Counter[str]]  # of each module
    survivors: tuple[Mutant, ...]

    @property
    def score(self) -> float:
        """Return the share of the killed; what the types refuse counts for neither side."""
        total: Counter[str] = sum(self.counts.values(), Counter())
        return _score(total)

    def lines(self) -> list[str]:
        """Return the counts of each module, and of all."""
        total: Counter[str] = sum(self.counts.values(), Counter())
        rows = [*sorted(self.counts.items()), ("all", total)]
        width = max(len(name) for name, _ in rows)
        return [
            f"{name:<{width}}  {count['killed']:>5} killed  {count[SURVIVED]:>4} survived"
            f"  {count['by types']:>4} refused by types  {_score(count):>4.0%}"
            for name, count in rows
        ]

    def problems(self, accepted: Iterable[Mutant]) -> list[str]:
        """Return survivors without a reason, reasons without a survivor, and a low score."""
        known = set(accepted)
        found = [f"survived: {_spelled(one)}" for one in self.survivors if one not in known]
        gone = (one for one in known - {*self.survivors} if one.module in self.counts)
        found += sorted(f"accepted, but does not survive any more: {_spelled(one)}" for one in gone)
        if self.score < LEAST_KILLED:
            found.append(f"only {self.score:.1%} are killed, at least {LEAST_KILLED:.0%} must be")
        return found


def read_report() -> Report:
    """Read what the last run has left."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    survivors = []
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        for name, exit_code in data.exit_code_by_key.items():
            fate = FATES.get(status_by_exit_code[exit_code], SURVIVED)
            if fate == "not checked":
                continue
            counts[path.as_posix()][fate] += 1
            if fate == SURVIVED:
                function, owner = orig_function_and_class_names_from_key(name)
                change = changed_lines(get_diff_for_mutant(name, path=path))
                full_name = f"{owner}.{function}" if owner else function
                survivors.append(Mutant(path.as_posix(), full_name, change))
    return Report(dict(counts), tuple(survivors))


def changed_lines(diff: str) -> str:
    """Return the lines that a diff takes away and adds, without their indentation."""
    lines = [line for line in diff.splitlines()[2:] if line.startswith(("-", "+"))]
    return "\n".join(f"{line[0]} {line[1:].strip()}" for line in lines)


def read_accepted(path: Path = ACCEPTED) -> list[Mutant]:
    """Return the survivors that are accepted; each has its reason beside it."""
    found = []
    for reason in tomllib.loads(path.read_text())["reason"]:
        assert reason["why"].strip()
        for change in reason["changes"]:
            module, function, *lines = change.strip().splitlines()
            found.append(Mutant(module, function, "\n".join(lines)))
    return found


class NoCallers(MutmutCallStack):
    """Knows no caller of a function: only a second run on the same folder would ask for them.

    mutmut notes them in a context variable at each call, and under these tests Python 3.11 then
    ends with a segmentation fault.
    """

    @classmethod
    def set(cls, value: tuple[str, int]) -> None:  # type: ignore[override]
        """Forget it."""

    @classmethod
    def reset(cls, token: object) -> None:
        """Forget it."""


def pytest_configure() -> None:
    """Let mutmut's calls pass without a note of who called."""
    trampoline.MutmutCallStack = NoCallers  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Give each test the attribute that mutmut reads and that pytest has renamed."""
    for item in items:
        item._nodeid = item.nodeid  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End the process of a mutant whose test never ends, and its tests when its time is over.

    Its process only: mutmut runs all tests in its own one, too, to see which functions they reach.
    """
    if MUTANT_MARK not in trampoline.get_mutant_under_test():
        return (yield)
    soft, hard = getrlimit(RLIMIT_CPU)
    setrlimit(RLIMIT_CPU, (ceil(process_time()) + TEST_SECONDS, hard))
    result = yield
    setrlimit(RLIMIT_CPU, (soft, hard))
    if process_time() > MUTANT_SECONDS:
        items = item.session.items
        del items[items.index(item) + 1 :]
    return result


def main(arguments: list[str] | None = None) -> int:
    """Run mutmut, print the table, and fail for each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="such as 'functions.core.*'; all if left out")
    parser.add_argument("--last", action="store_true", help="report the last run again")
    options = parser.parse_args(arguments)
    if not options.last:
        shutil.rmtree(ROOT / "mutants", ignore_errors=True)
        mutmut = Path(sys.executable).with_name("mutmut")
        subprocess.run([str(mutmut), "run", *options.names], cwd=ROOT, check=True)
    report = read_report()
    print("\n".join(report.lines()))
    found = report.problems(read_accepted())
    for problem in found:
        print(f"\n{problem}", file=sys.stderr)
    return 1 if found else 0


def _score(count: Counter[str]) -> float:
    tested = count["killed"] + count[SURVIVED]
    return count["killed"] / tested if tested else 1.0


def _spelled(mutant: Mutant) -> str:
    """Spell a mutant as docs/mutants.toml does."""
    return "\n".join((mutant.module, mutant.function, mutant.change))


if __name__ == "__main__":
    sys.exit(main())
