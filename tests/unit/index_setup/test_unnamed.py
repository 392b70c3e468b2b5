"""Searches that name no target: no deployment lets them mean another one without a switch."""

import pytest

from functions.core.names import first_index, read_alias
from functions.index_setup.ensure import IndexSpec, MisfitError
from functions.index_setup.migration import guard_searches

OLD, NEW = "small", "large"
SHARED = read_alias(OLD)
FORWARD = {OLD: "", NEW: OLD}


class Aliases:
    """Knows where each alias stands, and moves it."""

    def __init__(self, **moved: str) -> None:
        self.behind = {read_alias(name): first_index(name) for name in (OLD, NEW)} | {
            read_alias(name): first_index(to) for name, to in moved.items()
        }

    def indexes_behind(self, alias: str) -> frozenset[str]:
        return frozenset(filter(None, [self.behind.get(alias)]))

    def is_nowhere(self, alias: str) -> bool:
        return alias not in self.behind

    def aliases(self, alias: str) -> frozenset[str]:
        index = first_index(alias)
        return frozenset(name for name, behind in self.behind.items() if behind == index)

    def move_alias(self, alias: str, *, before: object, after: str) -> None:
        del before
        self.behind[alias] = after


def spec(name: str) -> IndexSpec:
    return IndexSpec(alias=name, model=name, dimensions=4, metadata={})


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({OLD: NEW, NEW: ""}, "keep the direction of `replaces`, and switch with"),
        ({OLD: "", NEW: ""}, "keep `replaces` until the migration has ended"),
    ],
    ids=["turned round", "deleted alone"],
)
def test_deployment_changes_no_meaning_before_the_switch(after: dict[str, str], words: str) -> None:
    """R44 R51: another index would answer, however empty, or none."""
    aliases = Aliases()

    with pytest.raises(MisfitError, match=words):
        guard_searches(spec(NEW), aliases, after, SHARED)

    assert aliases.behind == Aliases().behind


@pytest.mark.parametrize(
    ("name", "after", "was_shared"),
    [
        pytest.param(NEW, FORWARD, None, id="added"),
        pytest.param(OLD, FORWARD, None, id="gets a successor"),
        pytest.param(OLD, {OLD: ""}, SHARED, id="successor removed"),
        pytest.param(NEW, {OLD: NEW, NEW: "", "third": ""}, SHARED, id="beside a third"),
        # The new first one was refused, and gets its former properties again.
        pytest.param(NEW, FORWARD, read_alias(NEW), id="taken back"),
    ],
)
def test_what_keeps_the_meaning_is_let_through(
    name: str, after: dict[str, str], was_shared: str | None
) -> None:
    """R44: before the switch."""
    guard_searches(spec(name), Aliases(), after, was_shared)


def test_direction_is_turned_round_after_the_end_alone() -> None:
    """R44 R55: after the switch the old one goes first; then it may come back as a successor."""
    aliases = Aliases(**{OLD: NEW})
    back = {OLD: NEW, NEW: ""}
    with pytest.raises(MisfitError, match="remove this one in the same deployment"):
        guard_searches(spec(OLD), aliases, back, SHARED)
    assert aliases.behind[SHARED] == first_index(NEW)

    guard_searches(spec(NEW), aliases, {NEW: ""}, SHARED)
    guard_searches(spec(OLD), aliases, back, None)

    assert aliases.behind[SHARED] == first_index(OLD)
