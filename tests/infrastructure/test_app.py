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
from infrastructure.config.file import read_context
from infrastructure.function_code import PLACEHOLDER, NotBuiltError, zips
from tests.infrastructure.synthesized import CONTEXT, ROOT
from tests.this_machine.sitecustomize import MAY_READ


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


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'{"context":\n {"stages": }}', "line 2: is not JSON: Expecting value"),
        (b"", "line 1: is not JSON: Expecting value"),
        (b"\xff{}", "byte 0 is not UTF-8: save the file as UTF-8, without a byte order mark"),
        (b"[]", 'is not an object: {"app": ..., "context": {"stages": {...}}}'),
        (b"{}", 'context: is missing: {"app": ..., "context": {"stages": {...}}}'),
        (
            b'{"context": null}',
            'context: is not an object: {"app": ..., "context": {"stages": {...}}}',
        ),
        (b'{"context": {}}', "stages: is missing or empty: {<stage name>: {...}}"),
        (
            b'{"context": {"stages": {"dev": {}, "prod": {}, "dev": {}}}}',
            'key "dev" is there twice, beside prod: each key once',
        ),
    ],
)
def test_file_that_cannot_be_read_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, line: str
) -> None:
    """R01: a line, not a traceback; and no key that stands twice is dropped in silence."""
    (tmp_path / "cdk.json").write_bytes(content)

    assert app.main(tmp_path) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"cdk.json: {line}"


def test_missing_file_gets_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """R01: a line, not a traceback."""
    assert app.main(tmp_path) == 1
    assert capsys.readouterr().err == f"cdk.json: is missing: a file in {tmp_path.name}\n"


def test_unknown_stage_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """R01: `-c stage=` names a stage of the file."""
    assert app.main(cdk_json(tmp_path, {**CONTEXT, "stage": "live"})) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        'cdk.json: stages: "live" is no stage of this file: one of dev, prod, private, example'
    )


def test_code_that_was_not_built_is_refused_unless_a_flag_asks_for_a_placeholder(
    tmp_path: Path,
) -> None:
    """R01: a bare `cdk deploy` never deploys functions without code."""
    context = {**CONTEXT, "stage": "dev"}

    with pytest.raises(NotBuiltError, match=r"enqueue\.zip, .*not built: run `make build` first"):
        pipeline_app(context, code=zips(tmp_path), outdir=tmp_path / "refused")
    for flag in (True, "true"):
        out = tmp_path / f"placeholder-{flag}"
        asked = {**context, "placeholder_code": flag}

        pipeline_app(asked, code=zips(tmp_path), outdir=out).synth()

        assert len([*out.glob("asset.*/README.md")]) == 1


def test_zips_are_taken_once_they_are_built(tmp_path: Path) -> None:
    """R01: what was built is deployed, also where a placeholder would do."""
    for path in zips(tmp_path).values():
        path.write_bytes(f"PK {path.name}".encode())
    context = {**CONTEXT, "stage": "dev", "placeholder_code": True}

    pipeline_app(context, code=zips(tmp_path), outdir=tmp_path / "out").synth()

    built = {path.read_bytes() for path in (tmp_path / "out").glob("asset.*.zip")}
    assert built == {path.read_bytes() for path in zips(tmp_path).values()}


def test_same_input_gives_the_same_template(tmp_path: Path) -> None:
    """R01: nothing in a template depends on when or where it was made."""
    templates = []
    for name in ("one", "two"):
        out = tmp_path / name
        pipeline_app({**CONTEXT, "stage": "example"}, code=PLACEHOLDER, outdir=out).synth()
        templates.append((out / "embedq-example.template.json").read_bytes())

    assert templates[0] == templates[1]


def test_synth_needs_no_credentials_no_network_and_no_node_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R01: every stage of cdk.json, in an environment that has nothing to offer."""
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    environment = {
        **nowhere,
        "HOME": os.environ["HOME"],  # jsii unpacks the CDK into its cache once.
        "PATH": "",
        "CDK_OUTDIR": str(tmp_path),
        "CDK_CONTEXT_JSON": '{"placeholder_code": "true"}',  # As the cdk command passes it on.
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
    monkeypatch.setenv(MAY_READ, "true")
    stages = sorted(read_context(ROOT / "cdk.json")["stages"])
    assert sorted(path.name for path in tmp_path.glob("*.template.json")) == [
        f"embedq-{stage}.template.json" for stage in stages
    ]


def warnings_of(stack: str, assembly: Path) -> list[str]:
    """Return what a synthesis warned of, as the `cdk` command reads it."""
    constructs = json.loads((assembly / f"{stack}.metadata.json").read_text())
    entries = [entry for of_one in constructs.values() for entry in of_one]
    return [entry["data"] for entry in entries if entry["type"] == "aws:cdk:warning"]


def test_stage_that_is_kept_and_whose_alarms_reach_no_person_says_so(tmp_path: Path) -> None:
    """R61: at synth, with the way out."""
    prod = CONTEXT["stages"]["prod"]
    mailed = {**prod, "alarm_emails": {"critical": ["team@example.com"]}}
    stages = {"dev": CONTEXT["stages"]["dev"], "prod": prod, "mailed": mailed}

    pipeline_app({**CONTEXT, "stages": stages}, code=PLACEHOLDER, outdir=tmp_path).synth()

    warnings = {stage: warnings_of(f"embedq-{stage}", tmp_path) for stage in stages}
    assert warnings["dev"] == warnings["mailed"] == []
    assert len(warnings["prod"]) == 1
    assert "stages.prod.alarm_emails.critical is empty" in warnings["prod"][0]


def test_stage_is_deployed_only_to_the_region_of_what_exists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R02: the cdk command names the region of the profile; a stage that is not chosen is free."""
    folder = cdk_json(tmp_path, {**CONTEXT, "stage": "example", "placeholder_code": True})
    monkeypatch.setenv("CDK_DEFAULT_REGION", "us-east-1")

    assert app.main(folder) == 1
    assert capsys.readouterr().err.splitlines()[-3:] == [
        f"cdk.json: stages.example.{path}: is in eu-west-1, and the deployment goes to us-east-1:"
        " one region"
        for path in (
            "sources.articles.table.arn",
            "targets.large.api_key_secret_arn",
            "opensearch.domain_arn",
        )
    ]

    monkeypatch.setenv("CDK_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "999999999999")
    assert app.main(folder) == 1
    # Secrets and domains are named by their ARN, and may be those of another account.
    assert capsys.readouterr().err.splitlines()[-1:] == [
        "cdk.json: stages.example.sources.articles.table.arn: is in 123456789012, and the"
        " deployment goes to 999999999999: one account"
    ]

    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "123456789012")
    monkeypatch.setenv("CDK_OUTDIR", str(tmp_path / "out"))
    assert app.main(folder) == 0


def test_region_that_lacks_what_is_needed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R41: in China dead letters cannot be redriven."""
    folder = cdk_json(tmp_path, {**CONTEXT, "stage": "dev", "placeholder_code": True})
    monkeypatch.setenv("CDK_DEFAULT_REGION", "cn-north-1")

    assert app.main(folder) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "cdk.json: stages.dev: the deployment goes to cn-north-1: a region outside China, where"
        " SQS lacks the redrive and Lambda the traces"
    )
