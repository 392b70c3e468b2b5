"""Run the checkout's own cdk command on its own node: no telemetry, no notices, no version check.

So that `make synth` needs neither network nor credentials.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def cdk_command(*arguments: str) -> list[str]:
    """Return the command line that runs cdk with these arguments."""
    node = os.environ.get("JSII_NODE", "node")
    return [node, str(ROOT / "node_modules/aws-cdk/bin/cdk"), *arguments, "--no-notices"]


def cdk_environment() -> dict[str, str]:
    """Return this environment with everything that makes cdk phone home switched off."""
    quiet = {"CDK_DISABLE_CLI_TELEMETRY": "1", "CDK_DISABLE_VERSION_CHECK": "1"}
    return {**os.environ, **quiet}


def main() -> int:
    """Pass the arguments on to cdk and its exit code back."""
    command = cdk_command(*sys.argv[1:])
    return subprocess.run(command, cwd=ROOT, env=cdk_environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
