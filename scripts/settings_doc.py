"""docs/settings.md from the models that read cdk.json, written by `make docs`."""

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from functions.core.retry_policy import PRESETS, Backoff, RetryPolicy
from infrastructure.config.mistakes import allowed
from infrastructure.config.stage import StageConfig

PATH = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
OPENING = """\
# Settings

Every stage is an object under `context.stages` of `cdk.json`. `<name>` stands for a name of
yours. A mistake fails synth, with one line that names the setting and what is allowed.

| setting | default | allowed |
|---|---|---|
"""
PRESETS_OPENING = """
## Retry presets

What a name under `retry` stands for. A part of each wait, as named, is random and taken off.

| preset | attempts | waits between them | random |
|---|---|---|---|
"""


def settings_page() -> str:
    """Write the page."""
    settings = "".join(
        f"| `{path}` | {default} | {rule} |\n"
        for path, default, rule in _rows(StageConfig, "", set())
    )
    presets = "".join(
        f"| `{name}` | {policy.max_attempts} | {_waits(policy)} | {policy.jitter:.0%} |\n"
        for name, policy in PRESETS.items()
    )
    return OPENING + settings + PRESETS_OPENING + presets


def _waits(policy: RetryPolicy) -> str:
    delays = [policy.delay_seconds(attempts) for attempts in range(1, policy.max_attempts)]
    runs = [(delay, len(list(same))) for delay, same in groupby(delays)]
    return ", ".join(_wait(delay) + (f" ({n} times)" if n > 1 else "") for delay, n in runs)


def _wait(seconds: float) -> str:
    if not seconds:
        return "none"
    return f"{seconds / 60:g} min" if seconds % 60 == 0 else f"{seconds:g} s"


def _rows(
    model: type[BaseModel], prefix: str, known: set[type[BaseModel]]
) -> Iterator[tuple[str, str, str]]:
    """Describe a model's fields, and those of each model inside it once."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        inner = _model_in(field.annotation)
        rule = allowed(field).replace("|", "\\|").replace("\n", "\\n")
        # A policy and its kinds take from the preset what they leave out.
        is_inherited = issubclass(model, Backoff) and name in Backoff.model_fields
        yield path, "" if is_inherited else _default(field), rule
        if inner is not None and inner not in known:
            known.add(inner)
            middle = ".<name>." if _is_mapping(field.annotation) else "."
            yield from _rows(inner, f"{path}{middle}", known)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for found in map(_model_in, get_args(annotation)) if found), None)


def _is_mapping(annotation: Any) -> bool:
    return get_origin(annotation) in (dict, Mapping)


def _default(field: FieldInfo) -> str:
    if field.is_required() or field.default is PydanticUndefined:
        return "needed"
    value = field.default
    if value is None or isinstance(value, BaseModel) or value in ({}, ()):
        return ""
    return f"`{json.dumps(value)}`"


def main() -> int:
    """Write docs/settings.md."""
    PATH.write_text(settings_page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
