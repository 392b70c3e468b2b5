"""Stages in AWS: what cannot be read is explained, with what to do about it."""

import json
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from ops.cli import main
from ops.deployment import in_aws
from ops.output import UsageError


@pytest.fixture(autouse=True)
def _nothing_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let boto3 find neither a region nor credentials."""
    for name in (
        "REGION", "DEFAULT_REGION", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "PROFILE", "ENDPOINT_URL"
    ):  # fmt: skip
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def why(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Return what a command says that cannot read its stack."""
    assert main(["stats", "--stage", "dev", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("embedq: the stack embedq-dev cannot be read: ")
    assert error.count("\n") == 1
    return error


def test_missing_region_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: with the option that names it."""
    assert "name it with --region" in why(capsys)


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_empty_region_is_a_missing_one(
    variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: a variable of a job that is not set for it."""
    monkeypatch.setenv(variable, "")

    assert "name it with --region" in why(capsys)


@pytest.mark.parametrize("address", ["nonsense", "http://[", "http://example.com:1x"])
def test_endpoint_that_is_no_address_is_said(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: in words, and not with a stack trace."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)

    assert main(["stats", "--stage", "dev", "--region", "eu-west-1"]) == 2

    assert f"AWS_ENDPOINT_URL is no address: {address}" in capsys.readouterr().err


def test_missing_credentials_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: the region is taken from AWS_REGION, as by other AWS clients."""
    monkeypatch.setenv("AWS_REGION", "eu-west-1")

    assert "name a profile with --profile" in why(capsys)


def test_stage_is_never_looked_for_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: a shell that has the variables of `embedq up` would take the wrong stack for AWS."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:4566")

    assert main(["recover", "--yes", "--stage", "dev", "--region", "eu-west-1"]) == 2

    assert "AWS_ENDPOINT_URL leads to http://localhost:4566" in capsys.readouterr().err


def test_stage_that_is_not_deployed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: with the command that deploys it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")

    with mock_aws():
        assert "`make deploy STAGE=dev`" in why(capsys, "--region", "eu-west-1")


def test_stack_of_an_own_app_is_found_by_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: it holds an EmbeddingPipeline, of this version, or the answer says that it does not."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    topic = {"Type": "AWS::SNS::Topic"}
    holding = {"Resources": {"T": topic}, "Outputs": {"LedgerTable": {"Value": "rows"}}}

    with mock_aws():
        client = boto3.client("cloudformation", region_name="eu-west-1")
        client.create_stack(StackName="Shop", TemplateBody=json.dumps(holding))
        client.create_stack(StackName="Blog", TemplateBody=json.dumps({"Resources": {"T": topic}}))

        assert in_aws("Shop", region="eu-west-1").outputs == {"LedgerTable": "rows"}
        with pytest.raises(UsageError, match="has no output QueryFunction: it was deployed by"):
            _ = in_aws("Shop", region="eu-west-1").index
        assert main(["stats", "--stage", "Blog", "--region", "eu-west-1"]) == 2
        assert "the stack Blog holds no pipeline of embedq" in capsys.readouterr().err
