"""cdk.json -> typed stages. Whatever comes out can be deployed; else every mistake is named."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from pydantic import TypeAdapter, ValidationError

from infrastructure.config.mistakes import (
    ConfigError,
    Mistake,
    Path,
    did_you_mean,
    mistakes_of,
    with_question,
)
from infrastructure.config.neighbours import shared_names
from infrastructure.config.rules import broken_rules
from infrastructure.config.stage import StageConfig, StageName

_LINES = {ord(character): None for character in "\n\r\t"}
MULTILINE = ("text", "chunk_prefix", "document_prefix", "query_prefix")


def parse_stages(raw: object) -> dict[str, StageConfig]:
    """Parse every stage, or raise one ConfigError with all mistakes of all stages."""
    if not isinstance(raw, Mapping) or not raw:
        raise ConfigError([Mistake(("stages",), "is missing or empty", "{<stage name>: {...}}")])
    stages: dict[str, StageConfig] = {}
    mistakes: list[Mistake] = []
    for name, stage in raw.items():
        try:
            stages[name] = parse_stage(name, stage)
        except ConfigError as error:
            mistakes += [mistake.under(("stages", name)) for mistake in error.mistakes]
    mistakes = mistakes or shared_names(stages)
    if mistakes:
        raise ConfigError(mistakes)
    return stages


def parse_stage(name: str, raw: object) -> StageConfig:
    """Parse one stage, or raise a ConfigError with its mistakes."""
    try:
        TypeAdapter(StageName).validate_python(name)
    except ValidationError as error:
        allowed = "a letter, then letters, digits and hyphens, lower-case, at most 20"
        raise ConfigError([Mistake((), "is not a stage name", allowed)]) from error
    if mistakes := [*_unreadable(raw)]:
        raise ConfigError(mistakes)
    try:
        # JSON, because strict Python would refuse a list for a tuple.
        config = StageConfig.model_validate_json(json.dumps(raw), strict=True)
    except ValidationError as error:
        found = mistakes_of(error, StageConfig)
        raise ConfigError([_with_target_names(mistake, raw) for mistake in found]) from error
    # Rules that span several parts are checked only once each part is right.
    if mistakes := broken_rules(name, config):
        raise ConfigError(mistakes)
    return config


def _with_target_names(mistake: Mistake, raw: object) -> Mistake:
    """Add the nearest target of the stage to the mistake in a name of one."""
    match mistake.path, raw:
        case (
            ("sources", str(source), "targets", int(place)),
            {"targets": Mapping() as targets, "sources": Mapping() as sources},
        ):
            given = sources[source]["targets"][place]
            question = did_you_mean(given, map(str, targets))
            return replace(mistake, allowed=with_question(mistake.allowed, question))
    return mistake


def _unreadable(value: object, path: Path = ()) -> Iterator[Mistake]:
    """Find characters that no name and no text can have, in keys and in values."""
    match value:
        case Mapping():
            for key, part in value.items():
                yield from _unreadable(key, (*path, _shown(str(key))))
                yield from _unreadable(part, (*path, _shown(str(key))))
        case list():
            for place, part in enumerate(value):
                yield from _unreadable(part, (*path, place))
        case str():
            # Templates and prefixes have lines.
            rest = value.translate(_LINES) if path and path[-1] in MULTILINE else value
            if _shown(rest) != rest:
                yield Mistake(path, "holds a character that is no text", "printable characters")
        case float() if not math.isfinite(value):
            yield Mistake(path, f"{value} is no number", "a number")


def _shown(text: str) -> str:
    """Spell characters that cannot be printed, and halves of surrogate pairs."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
