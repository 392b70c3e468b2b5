"""docs/settings.md from the models that read cdk.json, written by `make docs`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from infrastructure.stage_config import StageConfig

PATH = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
OPENING = """\
# Settings

Every stage is an object under `context.stages` of `cdk.json`. `<name>` stands for a name of
yours. A mistake fails synth, with one line that names the setting and what is allowed.

| setting | default | allowed |
|---|---|---|
"""


def settings_page() -> str:
    """Write the page."""
    return OPENING + "".join(
        f"| `{path}` | {default} | {allowed} |\n" for path, default, allowed in _rows(StageConfig)
    )


def _rows(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        inner = _model_in(field.annotation)
        allowed = (field.description or "").replace("|", "\\|").replace("\n", "\\n")
        yield path, _default(field), allowed
        if inner is not None:
            middle = ".<name>." if _is_mapping(field.annotation) else "."
            yield from _rows(inner, f"{path}{middle}")


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for found in map(_model_in, get_args(annotation)) if found), None)


def _is_mapping(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", None) is dict


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
