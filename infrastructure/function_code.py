"""The functions' zips: those that `make build` made, or a placeholder where a flag asks for it."""

from collections.abc import Mapping
from pathlib import Path

from aws_cdk import App
from aws_cdk import aws_lambda as lambda_

from infrastructure.function_table import FUNCTIONS

PLACEHOLDER = {folder: Path(__file__).parent / "placeholder_code" for folder in FUNCTIONS}
# Beside this folder in the wheel; a checkout has what `make build` made instead.
PACKAGED = Path(__file__).parents[1] / "zips"
# As in `cdk synth --context placeholder_code=true`.
FLAG = "placeholder_code"


class NotBuiltError(Exception):
    """A function's zip is missing, and no flag asks for a placeholder."""


def zips(build: Path) -> dict[str, Path]:
    """Name each function's zip as `make build` does."""
    return {folder: build / f"{folder}.zip" for folder in FUNCTIONS}


def code_of(app: App, paths: Mapping[str, Path]) -> Mapping[str, Path]:
    """Return the code to deploy; what was not built is refused or, if asked for, a placeholder."""
    missing = [path.name for path in paths.values() if not path.exists()]
    if not missing:
        return paths
    # Deployed, a placeholder would answer every call with an error.
    if str(app.node.try_get_context(FLAG)).lower() != "true":
        raise NotBuiltError(
            f"{', '.join(missing)} not built: run `make build` first. To look at a template or to"
            f" destroy a stage without code, add --context {FLAG}=true"
        )
    return PLACEHOLDER


def assets(paths: Mapping[str, Path]) -> dict[str, lambda_.Code]:
    """Make the assets of one stack; the CDK lets no two stacks share one."""
    return {folder: lambda_.Code.from_asset(str(path)) for folder, path in paths.items()}
