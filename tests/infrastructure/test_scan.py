"""The template under the eyes of others: cdk-nag and cfn-lint."""

from collections.abc import Callable
from pathlib import Path

import cfnlint  # type: ignore[import-untyped]
from aws_cdk import App, Stack
from aws_cdk import aws_sqs as sqs

from tests.infrastructure.security_scan import findings, scan
from tests.infrastructure.synthesized import Synthesized


def test_security_scan_finds_nothing_that_is_not_accepted_with_a_reason(
    synthesized: Synthesized,
) -> None:
    """R84: cdk-nag's AWS Solutions rules are clean."""
    assert synthesized.findings == ()


def test_security_scan_would_find_a_queue_without_tls(tmp_path: Path) -> None:
    """R84: the scan that finds nothing is awake."""
    app = App(outdir=str(tmp_path))
    sqs.Queue(Stack(app, "Careless"), "Queue")

    scan(app)

    assert "AwsSolutions-SQS4 at Careless/Queue/Resource" in findings(tmp_path)


def test_template_is_valid_cloudformation(synthesized: Synthesized) -> None:
    """R01: cfn-lint is clean."""
    matches = cfnlint.lint(synthesized.path.read_text(), regions=["us-east-1", "eu-west-1"])

    assert [str(match) for match in matches] == []


def test_stack_is_bound_to_no_account_and_reports_nothing(
    synthesize: Callable[[str], Synthesized],
) -> None:
    """R01: any account and region; no usage report inside the template."""
    template = synthesize("dev").path.read_text()

    assert "AWS::CDK::Metadata" not in template
    assert "123456789012" not in template
