"""The CDK app: cdk.json in, one stack per stage out. No AWS call, no network, no credentials."""

import json
import sys
from pathlib import Path

from infrastructure.app import pipeline_app
from infrastructure.config.mistakes import ConfigError
from infrastructure.function_code import built_code

ROOT = Path(__file__).parent


def main(root: Path = ROOT) -> int:
    """Synthesize every stage, or print each mistake of cdk.json on a line of its own."""
    try:
        context = json.loads((root / "cdk.json").read_text())["context"]
        pipeline_app(context, code=built_code(root / "build" / "lambda")).synth()
    except json.JSONDecodeError as error:
        sys.stderr.write(f"cdk.json: line {error.lineno}: is not JSON: {error.msg}\n")
        return 1
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
