"""Stages in AWS: what cannot be read is explained, with what to do about it."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from ops.cli import main
from ops.deployment import Deployment, find_stage, in_aws
from ops.output import UsageError
from tests.builders import make_source, make_target


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


class OneStack:
    """CloudFormation as an application sees it that may read one stack alone."""

    region_name = "eu-west-1"

    def __init__(self, **_: Any) -> None:
        pass

    def client(self, *_: Any, **__: Any) -> "OneStack":
        return self

    def describe_stacks(self, StackName: str) -> dict[str, Any]:
        if StackName != "Shop":
            message = f"not authorized to perform: DescribeStacks on resource: {StackName}"
            error: Any = {"Error": {"Code": "AccessDenied", "Message": message}}
            raise ClientError(error, "DescribeStacks")
        outputs = [{"OutputKey": "LedgerTable", "OutputValue": "rows"}]
        return {"Stacks": [{"StackId": "arn", "Outputs": outputs}]}


def test_stack_of_an_own_app_is_found_by_who_may_read_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R51: as docs/searching.md gives an application its rights; the stage's stack comes first."""
    monkeypatch.setattr("ops.deployment.boto3.Session", OneStack)

    assert find_stage("Shop").outputs == {"LedgerTable": "rows"}
    with pytest.raises(UsageError, match=r"the stack embedq-dev cannot be read: .*not authorized"):
        find_stage("dev")


@pytest.mark.parametrize(("kind", "made"), [("source", make_source()), ("target", make_target())])
def test_stack_with_settings_of_a_newer_version_is_refused_in_words(kind: str, made: Any) -> None:
    """R51: whether a document is current cannot be told without a setting that decides it."""
    settings = json.dumps(json.loads(made.model_dump_json()) | {"reranker": "x"})
    newer = Deployment({f"{kind.title()}OneSettings": settings}, boto3.Session())

    with pytest.raises(UsageError) as caught:
        getattr(newer, f"{kind}s")

    assert caught.value.message == (
        f"the stack has a {kind} with reranker, which this version of embedq cannot read: use the"
        " version that has deployed it"
    )
