"""cdk-nag's AWS Solutions rules over an app, and what they found."""

import contextlib
import json
from pathlib import Path

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks


def scan(app: App) -> None:
    """Synthesize an app under the rules; what they find is in the report, not in an error."""
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    with contextlib.suppress(RuntimeError):
        app.synth()


def findings(out: Path) -> tuple[str, ...]:
    """Read the report: rule and construct of each finding that was not accepted."""
    report = json.loads((out / "validation-report.json").read_text())
    return tuple(
        f"{violation['ruleName']} at {construct['constructPath']}"
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for construct in violation["violatingConstructs"]
        # Our own warnings stand in the same report.
        if not violation["ruleName"].startswith("Annotation::embedq:")
    )
