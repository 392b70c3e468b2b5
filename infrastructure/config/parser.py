"""cdk.json -> typed stages. Whatever comes out can be deployed; else every mistake is named."""

import json
from collections.abc import Mapping

from pydantic import TypeAdapter, ValidationError

from infrastructure.config.mistakes import ConfigError, Mistake, mistakes_of
from infrastructure.config.rules import broken_rules
from infrastructure.config.stage import StageConfig, StageName


def parse_stages(raw: object) -> dict[str, StageConfig]:
    """Parse every stage, or raise one ConfigError with all mistakes of all stages."""
    if not isinstance(raw, Mapping) or not raw:
        raise ConfigError([Mistake(("stages",), "is missing or empty", "{<stage name>: {...}}")])
    stages: dict[str, StageConfig] = {}
    mistakes: list[Mistake] = []
    for name, stage in raw.items():
        try:
            stages[name] = _parse_stage(name, stage)
        except ConfigError as error:
            mistakes += [mistake.under(("stages", name)) for mistake in error.mistakes]
    if mistakes:
        raise ConfigError(mistakes)
    return stages


def _parse_stage(name: str, raw: object) -> StageConfig:
    try:
        TypeAdapter(StageName).validate_python(name)
    except ValidationError as error:
        allowed = "a letter, then letters, digits and hyphens, lower-case, at most 20"
        raise ConfigError([Mistake((), "is not a stage name", allowed)]) from error
    try:
        # JSON, because strict Python would refuse a list for a tuple.
        config = StageConfig.model_validate_json(json.dumps(raw), strict=True)
    except ValidationError as error:
        raise ConfigError(mistakes_of(error, StageConfig)) from error
    # Rules that span several parts are checked only once each part is right.
    if mistakes := broken_rules(name, config):
        raise ConfigError(mistakes)
    return config
