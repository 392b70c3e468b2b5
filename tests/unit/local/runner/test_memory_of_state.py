"""Checkpoints and switches outlive their process."""

from pathlib import Path

import pytest

from local.runner.shard import Checkpoint
from local.runner.switches import Switches


def test_a_checkpoint_is_read_again(tmp_path: Path) -> None:
    """R82: a new process goes on where the last one was."""
    old = Checkpoint(tmp_path / "c.json")
    old.begin("stream", ["one", "two"])
    old.advance("stream", "one", "41")
    old.advance("stream", "one", "42")
    old.close("stream", "two")

    new = Checkpoint(tmp_path / "c.json")

    assert (new.after("stream", "one"), new.after("stream", "two")) == ("42", None)
    assert (new.is_closed("stream", "one"), new.is_closed("stream", "two")) == (False, True)
    assert new.knows("stream")
    assert not new.knows("other")


def test_a_checkpoint_forgets_what_is_gone(tmp_path: Path) -> None:
    """R82: shards that the stream no longer has, and the stream of a table made anew."""
    checkpoint = Checkpoint(tmp_path / "c.json")
    checkpoint.advance("old", "one", "1")
    checkpoint.advance("stream", "one", "1")
    checkpoint.advance("stream", "two", "2")

    checkpoint.begin("stream", ["two"])

    new = Checkpoint(tmp_path / "c.json")
    assert not new.knows("old")
    assert (new.after("stream", "one"), new.after("stream", "two")) == (None, "2")


def test_a_switch_goes_through_its_states(tmp_path: Path) -> None:
    """R25: the states of the Lambda API, each reached only by the mapping itself."""
    switches = Switches(tmp_path / "s.json", {"m": True})
    seen = [switches["m"].state]

    switches.turn("m", enabled=False)
    seen.append(switches["m"].state)
    switches["m"].settle(enabled=True)
    seen.append(switches["m"].state)
    switches["m"].settle(enabled=False)
    seen.append(switches["m"].state)
    switches.turn("m", enabled=True)
    seen.append(switches["m"].state)

    assert seen == ["Enabled", "Disabling", "Disabling", "Disabled", "Enabling"]


def test_only_what_was_switched_is_remembered(tmp_path: Path) -> None:
    """R25: a mapping nobody touched follows the template."""
    Switches(tmp_path / "s.json", {"m": True, "other": True}).turn("m", enabled=False)

    switches = Switches(tmp_path / "s.json", {"m": True, "other": False})

    assert (switches["m"].is_on, switches["other"].is_on) == (False, False)
    with pytest.raises(KeyError):
        switches["unknown"]
