"""app.py as a person runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import app
from infrastructure.app import pipeline_app
from infrastructure.function_code import PLACEHOLDER, built_code
from tests.infrastructure.synthesized import CONTEXT, ROOT


def cdk_json(folder: Path, context: dict[str, Any]) -> Path:
    """Write a cdk.json and return its folder."""
    (folder / "cdk.json").write_text(json.dumps({"app": "x", "context": context}))
    return folder


def test_mistakes_are_printed_and_the_exit_code_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R01: lines, not a traceback."""
    stages = {"dev": {**CONTEXT["stages"]["dev"], "removal": "no", "colour": 1}}

    code = app.main(cdk_json(tmp_path, {"stages": stages}))

    assert code == 1
    assert [line.split(":")[1] for line in capsys.readouterr().err.splitlines()[-2:]] == [
        " stages.dev.removal",
        " stages.dev.colour",
    ]


def test_broken_json_gets_a_line_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """R01: the line number, not a traceback."""
    (tmp_path / "cdk.json").write_text('{"context":\n {"stages": }}')

    assert app.main(tmp_path) == 1
    assert capsys.readouterr().err == "cdk.json: line 2: is not JSON: Expecting value\n"


def test_unknown_stage_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """R01: `-c stage=` names a stage of the file."""
    assert app.main(cdk_json(tmp_path, {**CONTEXT, "stage": "live"})) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        'cdk.json: stages: "live" is no stage of this file: one of dev, prod, example'
    )


def test_zips_are_taken_once_they_are_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R01: a placeholder only where nothing was built, and it says so."""
    assert built_code(tmp_path) == PLACEHOLDER
    assert "Run `make build` before you deploy" in capsys.readouterr().err

    for folder in PLACEHOLDER:
        (tmp_path / f"{folder}.zip").touch()

    assert built_code(tmp_path) == {f: tmp_path / f"{f}.zip" for f in PLACEHOLDER}
    assert capsys.readouterr().err == ""


def test_same_input_gives_the_same_template(tmp_path: Path) -> None:
    """R01: nothing in a template depends on when or where it was made."""
    templates = []
    for name in ("one", "two"):
        out = tmp_path / name
        pipeline_app({**CONTEXT, "stage": "example"}, code=PLACEHOLDER, outdir=out).synth()
        templates.append((out / "embedq-example.template.json").read_bytes())

    assert templates[0] == templates[1]


def test_synth_needs_no_credentials_no_network_and_no_node_on_the_path(tmp_path: Path) -> None:
    """R01: every stage of cdk.json, in an environment that has nothing to offer."""
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    environment = {
        **nowhere,
        "HOME": os.environ["HOME"],  # jsii unpacks the CDK into its cache once.
        "PATH": "",
        "CDK_OUTDIR": str(tmp_path),
    }

    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.glob("*.template.json")) == [
        f"embedq-{stage}.template.json" for stage in sorted(CONTEXT["stages"])
    ]
