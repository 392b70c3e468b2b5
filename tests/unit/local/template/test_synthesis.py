"""One synthesis serves every start until something changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from local.stages import ChosenStage
from local.template import LocalAddresses, SynthesisError, local_template


def test_other_ports_need_no_new_synthesis(template: dict[str, Any], cache: Path) -> None:
    """R82: a warm start takes the template that is there."""
    before = {path: path.stat().st_mtime_ns for path in cache.iterdir()}

    moved = LocalAddresses("http://h:1", "http://h:2").put_into(local_template(cache=cache))

    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == before
    text = json.dumps(moved)
    assert ".invalid" not in text
    assert text.replace("http://h:1", "http://127.0.0.1:9200").replace(
        "http://h:2", "http://127.0.0.1:8000"
    ) == json.dumps(template)


def test_mistakes_of_a_stage_leave_no_template(tmp_path: Path) -> None:
    """R82: they are named, one line each."""
    file = tmp_path / "cdk.json"
    file.write_text('{"context": {"stages": {"mine": {"colour": 1}}}}')

    with pytest.raises(SynthesisError, match=r"cdk\.json: stages\.mine\.colour: unknown key"):
        local_template(cache=tmp_path / "cache", stage=ChosenStage(file, "mine"))
    assert list((tmp_path / "cache").iterdir()) == []
