"""Synthesize the local stage into a file: `python -m local.template.synthesize`, in a process."""

import sys
import tempfile
from pathlib import Path

from infrastructure.app import pipeline_app
from infrastructure.config.file import read_context
from infrastructure.config.mistakes import ConfigError
from infrastructure.function_code import PLACEHOLDER
from infrastructure.names import stack_name
from local.files import write_text
from local.template.stage import STAGE, LocalModel, local_stage


def synthesize(cdk_json: Path, *, stage: str, model: LocalModel) -> str:
    """Return the template, as text, of a stage of cdk.json for this machine."""
    context = read_context(cdk_json)
    stages = context["stages"]
    if stage not in stages:
        raise SystemExit(f'"{stage}" is no stage of cdk.json: it has {", ".join(stages)}')
    context["stages"] = {STAGE: local_stage(stages[stage], model)}
    with tempfile.TemporaryDirectory(prefix="embedq-synth-") as folder:
        # The functions run from what `make build` made: the template needs no zip.
        pipeline_app(context, code=PLACEHOLDER, outdir=Path(folder)).synth()
        return (Path(folder) / f"{stack_name(STAGE)}.template.json").read_text()


def main(stage: str, model: str, dimensions: str, out: str) -> int:
    """Write the template, whole or not at all."""
    try:
        text = synthesize(Path("cdk.json"), stage=stage, model=LocalModel(model, int(dimensions)))
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    write_text(Path(out), text)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
