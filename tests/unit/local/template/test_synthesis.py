"""One synthesis serves every start until something changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from infrastructure.config.parser import parse_stages
from local.template import LocalAddresses, LocalModel, SynthesisError, local_template
from local.template.stage import local_stage
from local.template.synthesis import ROOT

CONTEXT = json.loads((ROOT / "cdk.json").read_text())["context"]


def test_other_ports_need_no_new_synthesis(template: dict[str, Any], cache: Path) -> None:
    """R82: a warm start takes the template that is there."""
    before = {path: path.stat().st_mtime_ns for path in cache.iterdir()}

    moved = LocalAddresses("http://h:1", "http://h:2/v1").put_into(local_template(cache=cache))

    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == before
    text = json.dumps(moved)
    assert ".invalid" not in text
    assert text.replace("http://h:1", "http://127.0.0.1:9200").replace(
        "http://h:2/v1", "http://127.0.0.1:8000/v1"
    ) == json.dumps(template)


def test_an_unknown_stage_is_named(tmp_path: Path) -> None:
    """R82: a mistake in the stage's name is told with the names there are."""
    with pytest.raises(SynthesisError, match=r'"nope" is no stage of cdk\.json: it has dev'):
        local_template(cache=tmp_path, stage="nope")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stage", sorted(CONTEXT["stages"]))
def test_every_stage_of_cdk_json_can_be_run_on_one_machine(stage: str) -> None:
    """R82: also one with tables, keys and providers that are elsewhere."""
    given = CONTEXT["stages"][stage]

    parsed = parse_stages({"local": local_stage(given, LocalModel())})["local"]

    assert set(parsed.sources) == set(given["sources"])
    assert all(source.table is None for source in parsed.sources.values())
    assert {target.provider for target in parsed.targets.values()} == {"compatible"}
    assert parsed.opensearch.domain is None
    assert parsed.enabled
