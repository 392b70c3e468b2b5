"""The stage whose alarms are proven: one source, one target, and a domain of its own."""

import json
from pathlib import Path
from typing import Any

from benchmarks.alarms.world import SOURCE, STAGE, TARGET
from local.specs import StackSpec
from local.template.references import Site
from local.template.stack import read_stack
from scripts.scan import synthesize

STAGES: dict[str, Any] = {
    STAGE: {
        "sources": {SOURCE: {"key": {"id": "S"}, "text": "{body}"}},
        "targets": {
            TARGET: {"model": "text-embedding-3-small", "budget": {"tokens_per_day": 1_000_000}}
        },
        "opensearch": {"domain": {"instance_type": "t3.small.search"}},
    }
}


def write_template(folder: Path) -> None:
    """Synthesize the stage into a folder."""
    synthesize(folder, {"stages": STAGES, "stage": STAGE})


def read_template(folder: Path) -> StackSpec:
    """Read what was synthesized, as one-machine mode does."""
    template = json.loads((folder / f"embedq-{STAGE}.template.json").read_text())
    return read_stack(template, Site(f"embedq-{STAGE}", "http://localhost"))
