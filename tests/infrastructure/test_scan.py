"""The templates under the eyes of others: what cdk-nag and cfn-lint find has its reason."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from aws_cdk import App, Stack, Validations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from cdk_nag import AwsSolutionsChecks

from infrastructure.grants import allow
from scripts import scan
from scripts.scan import Accepted, Finding, accepted, cdk_nag, cfn_lint, unknown, unused
from tests.infrastructure.synthesized import ROOT, Synthesized

QUEUE = Finding("W1", "embedq-dev", "AWS::SQS::Queue/High1A2B")


def test_gate_scans_every_stage_of_the_tests() -> None:
    """R01, R84: every finding of cdk-nag, cfn-lint and checkov has a reason, and every reason a
    finding; `make check` does it, and not once more here."""
    check = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]

    assert "scripts.scan --all --stages tests/infrastructure/cdk.json" in check


def test_every_reason_is_written() -> None:
    """R84: a sentence for each, and no rule at one place twice."""
    entries = accepted()

    assert all(entry.reason.endswith(".") for entry in entries)
    assert len({(entry.rule, entry.at) for entry in entries}) == len(entries)


def test_queue_without_tls_and_new_wildcard_are_found(tmp_path: Path) -> None:
    """R84: the scan that finds nothing is awake; a grant with a wildcard needs a reason."""
    app = App(outdir=str(tmp_path))
    stack = Stack(app, "Careless")
    sqs.Queue(stack, "Queue")
    role = iam.Role(stack, "Role", assumed_by=iam.AccountRootPrincipal())
    allow(role, ["s3:GetObject"], ["arn:aws:s3:::bucket/*"])
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))

    with pytest.raises(RuntimeError):
        app.synth()

    wildcard = "Role/DefaultPolicy/Resource Resource::arn:aws:s3:::bucket/*"
    assert {
        Finding("AwsSolutions-SQS4", "Careless", "Queue/Resource"),
        Finding("AwsSolutions-IAM5", "Careless", wildcard),
    } <= set(unknown(cdk_nag(tmp_path), accepted()))


def test_wrong_property_is_found(tmp_path: Path) -> None:
    """R01: cfn-lint is awake, in every template of the folder."""
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"Colour": "red"}}
    for name in ("one", "two"):
        text = json.dumps({"Resources": {"Careless": queue}})
        (tmp_path / f"{name}.template.json").write_text(text)

    assert unknown(cfn_lint(tmp_path), accepted()) == [
        Finding("E3002", name, "AWS::SQS::Queue/Careless") for name in ("one", "two")
    ]


@pytest.mark.parametrize(
    ("rule", "at", "covers"),
    [
        ("W1", "AWS::SQS::Queue/*", True),
        ("W1", "AWS::SQS::Queue/Low*", False),
        ("W2", "AWS::SQS::Queue/*", False),
    ],
)
def test_reason_holds_for_its_rule_at_its_place(rule: str, at: str, covers: bool) -> None:
    """R84: and for no other."""
    entry = Accepted(rule, at, "It has one.")

    assert unknown([QUEUE], [entry]) == ([] if covers else [QUEUE])
    assert unused([QUEUE], [entry]) == ([] if covers else [entry])


def test_star_of_a_wildcard_is_distinguished_from_any_text() -> None:
    """R84: a reason for one wildcard is none for all others."""
    entry = Accepted("IAM5", "*/Resource Resource::[*]", "It has one.")
    wildcard = Finding("IAM5", "embedq-dev", "Sweep/Role/Resource Resource::*")
    other = Finding("IAM5", "embedq-dev", "Sweep/Role/Resource Resource::<Table.Arn>/index/*")

    assert unknown([wildcard, other], [entry]) == [other]


def test_finding_without_a_reason_and_reason_without_a_finding_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R84: each with what to do; the second only where everything is scanned."""
    file = tmp_path / "findings.toml"
    file.write_text('[[finding]]\nrule = "W2"\nat = "*"\nreason = "It has one."\n')
    monkeypatch.setattr(scan, "FILE", file)
    monkeypatch.setattr(scan, "ROOT", tmp_path)
    new = "scan: W1 at embedq-dev: AWS::SQS::Queue/High1A2B: correct the cause, or give a reason"
    old = "scan: W2 at *: found no more, take it out"

    assert scan.report([QUEUE], is_all=False) == 1
    assert capsys.readouterr().err == f"{new} in findings.toml\n"
    assert scan.report([QUEUE], is_all=True) == 1
    assert capsys.readouterr().err == f"{new} in findings.toml\n{old} of findings.toml\n"
    file.write_text(file.read_text().replace("W2", "W1"))
    assert scan.report([QUEUE], is_all=True) == 0


def test_stack_is_bound_to_no_account_and_reports_nothing(
    synthesize: Callable[[str], Synthesized],
) -> None:
    """R01: any account and region; no usage report inside the template."""
    template = synthesize("dev").path.read_text()

    assert "AWS::CDK::Metadata" not in template
    assert "123456789012" not in template
