"""Synthesize a stage for this machine into a file: `python -m local.template.synthesize`."""

import json
import sys
import tempfile
from pathlib import Path

from infrastructure.app import pipeline_app
from infrastructure.config.mistakes import ConfigError
from infrastructure.function_code import PLACEHOLDER
from local.files import write_text
from local.stages import ChosenStage
from local.template.stage import LocalModel, existing_tables, local_stage


def synthesize(stage: ChosenStage, *, model: LocalModel) -> str:
    """Return the template, as text, of a stage for this machine."""
    given = stage.read()
    context = {**stage.context(), "stages": {stage.name: local_stage(given, model)}}
    with tempfile.TemporaryDirectory(prefix="embedq-synth-") as folder:
        # The functions run from what `make build` made: the template needs no zip.
        pipeline_app(context, code=PLACEHOLDER, outdir=Path(folder)).synth()
        template = json.loads((Path(folder) / f"{stage.stack}.template.json").read_text())
    template["Resources"] |= existing_tables(given)
    return json.dumps(template)


def main(file: str, name: str, model: str, out: str) -> int:
    """Write the template, whole or not at all."""
    try:
        stand_in = LocalModel(**json.loads(model))
        text = synthesize(ChosenStage(Path(file), name), model=stand_in)
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    write_text(Path(out), text)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
