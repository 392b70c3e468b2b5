"""The cdk command is the checkout's own, and it keeps to itself."""

import pytest

from scripts.cdk import cdk_command, cdk_environment, main


def test_cdk_neither_reports_nor_asks_for_news() -> None:
    """R01: synth needs no network, so cdk must not want any."""
    environment = cdk_environment()

    assert environment["CDK_DISABLE_CLI_TELEMETRY"] == "1"
    assert environment["CDK_DISABLE_VERSION_CHECK"] == "1"
    assert cdk_command("synth")[-1] == "--no-notices"


def test_cdk_runs_on_the_node_of_the_checkout(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """R01: neither node nor cdk is needed on the path."""
    monkeypatch.setattr("sys.argv", ["cdk", "--version"])
    monkeypatch.setenv("PATH", "")

    assert main() == 0

    assert capfd.readouterr().out.startswith("2.")
