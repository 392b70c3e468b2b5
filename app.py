"""The CDK app: cdk.json in, one stack per stage out. No AWS call, no network, no credentials."""

import sys
from pathlib import Path

from infrastructure.app import pipeline_app
from infrastructure.config.file import read_context
from infrastructure.config.mistakes import ConfigError
from infrastructure.function_code import NotBuiltError, zips

ROOT = Path(__file__).parent


def main(root: Path = ROOT) -> int:
    """Synthesize every stage, or print each mistake of cdk.json on a line of its own."""
    try:
        pipeline_app(read_context(root / "cdk.json"), code=zips(root / "build" / "lambda")).synth()
    except (ConfigError, NotBuiltError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
