"""The functions' zips: those that `make build` made, or a placeholder that only synth may use."""

import sys
from collections.abc import Mapping
from pathlib import Path

from aws_cdk import aws_lambda as lambda_

from infrastructure.function_table import FUNCTIONS

PLACEHOLDER = {folder: Path(__file__).parent / "placeholder_code" for folder in FUNCTIONS}


def built_code(build: Path) -> dict[str, Path]:
    """Find each function's zip, or say in one line that a placeholder stands in for them."""
    zips = {folder: build / f"{folder}.zip" for folder in FUNCTIONS}
    missing = [path.name for path in zips.values() if not path.is_file()]
    if not missing:
        return zips
    sys.stderr.write(
        f"embedq: {', '.join(missing)} not built: synthesizing with placeholder code."
        " Run `make build` before you deploy.\n"
    )
    return PLACEHOLDER


def assets(paths: Mapping[str, Path]) -> dict[str, lambda_.Code]:
    """Make the assets of one stack; the CDK lets no two stacks share one."""
    return {folder: lambda_.Code.from_asset(str(path)) for folder, path in paths.items()}
