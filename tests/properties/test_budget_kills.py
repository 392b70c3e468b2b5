"""A budget under kills: the cap holds, and nothing is lost when it is raised."""

import pytest

from benchmarks.budget_kills import Run
from local.memory.control import MemoryControl


@pytest.mark.parametrize("seed", range(4))
def test_killed_workers_keep_the_cap_and_lose_nothing(seed: int) -> None:
    """R19 R31: 4 workers that overlap, killed at any call; a timeout is billed, a 429 is not."""
    run = Run(documents=200, workers=4, kills=20, cap=1000, seed=seed)

    used_up, end = run.play()

    assert run.mistakes(used_up, end) == []
    assert used_up.billed <= used_up.cap
    assert run.faults["kill"] == 20
    assert run.faults["overlapping run"] > 20


def test_settled_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """R19: the run is able to fail."""
    settle = MemoryControl.settle

    def twice(control: MemoryControl, *args: object) -> None:
        settle(control, *args)  # type: ignore[arg-type]
        settle(control, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryControl, "settle", twice)
    run = Run(documents=200, workers=4, kills=20, cap=1000)

    assert run.mistakes(*run.play())
