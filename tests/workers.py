"""How the tests run: what shares a stack stays together, the longest first; which are measured."""

import os
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

MOST_WORKERS = 8
# By the beginning of a test's id; all other tests are grouped by their file.
GROUPS = {
    "tests/stack/test_transcripts.py": "stacks of the pages",
    "tests/stack/test_migration.py": "stacks with a second target",
    "tests/stack/test_restart.py": "stacks of their own",
    "tests/stack/test_storm.py": "stacks of their own",
    "tests/stack/": "one stack for all",
    "tests/infrastructure/": "one synthesis for all",
}
LONGEST_FIRST = tuple(dict.fromkeys(["one stack for all", *GROUPS.values()]))
# Each of these takes seconds and shares nothing.
ALONE = ("tests/properties/", "tests/unit/ops/test_migration_commands.py")
# To measure their coverage takes as much time again, and other tests reach the same.
UNMEASURED = ("tests/properties/", "tests/flow/")


class Groups(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each group of tests to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(test_id: str) -> str:
    """Return the name of the group that a test belongs to."""
    if test_id.startswith(ALONE):
        return test_id
    found = (group for start, group in GROUPS.items() if test_id.startswith(start))
    return next(found, test_id.partition("::")[0])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the groups that take longest at the front, where the workers begin."""
    rank = {group: number for number, group in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: rank.get(group_of(item.nodeid), len(rank)))
    for item in items:
        if item.nodeid.startswith(UNMEASURED):
            item.add_marker(pytest.mark.no_cover)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    """Spread the tests by group, in the order of the collection."""
    config.option.loadscopereorder = False
    return Groups(config, log)


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of workers: two per core, as many tests wait for something."""
    return min(2 * (os.cpu_count() or 1), MOST_WORKERS)
