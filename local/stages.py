"""Which stage a stack on this machine runs: one of cdk.json, or embedq's own standard one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infrastructure.config.file import read_context
from infrastructure.config.mistakes import ConfigError, Mistake, one_of
from infrastructure.config.parser import parse_stages
from infrastructure.names import stack_name

CHECKOUT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class ChosenStage:
    """A stage by its name, and the file that it stands in."""

    file: Path
    name: str

    @property
    def stack(self) -> str:
        """Return the name of its stack, here and in AWS."""
        return stack_name(self.name)

    @property
    def is_standard(self) -> bool:
        """Return whether it is embedq's own."""
        return self == STANDARD

    def context(self) -> dict[str, Any]:
        """Return what the file says to the CDK, with this stage alone."""
        context = read_context(self.file)
        stages = context.get("stages")
        if not isinstance(stages, dict) or self.name not in stages:
            wrong = f'"{self.name}" is no stage of this file'
            raise ConfigError([Mistake(("stages",), wrong, one_of(self.name, stages or ()))])
        return {**context, "stages": {self.name: stages[self.name]}}

    def compressions(self) -> set[str]:
        """Return how the targets of a stage without mistakes compress their vectors."""
        targets = self.read().get("targets", {}).values()
        return {one["compression"] for one in targets if "compression" in one}

    def read(self) -> dict[str, Any]:
        """Return the stage as it is written, free of mistakes; other stages may have some."""
        stages: dict[str, dict[str, Any]] = self.context()["stages"]
        parse_stages(stages)
        return stages[self.name]


STANDARD = ChosenStage(Path(__file__).with_name("standard_stage.json"), "local")


def own_stage(name: str) -> ChosenStage:
    """Choose a stage of this checkout's cdk.json, by its name."""
    return ChosenStage(CHECKOUT / "cdk.json", name)


def with_successor(file: Path, name: str, changed: Mapping[str, Any]) -> ChosenStage:
    """Write the standard stage with a second target, which replaces the first one."""
    context = json.loads(json.dumps(STANDARD.context()))
    stage = context["stages"][STANDARD.name]
    [first] = stage["targets"]
    for source in stage["sources"].values():
        source["targets"] = [first, name]
    stage["targets"][name] = {**stage["targets"][first], "replaces": first, **changed}
    file.write_text(json.dumps({"context": context}))
    return ChosenStage(file, STANDARD.name)
