"""Mistakes in cdk.json as lines a person can act on: where, what is wrong, what is allowed."""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Mistake:
    path: Path
    wrong: str
    allowed: str

    def under(self, parent: Path) -> "Mistake":
        return replace(self, path=parent + self.path)

    def __str__(self) -> str:
        where = [".".join(map(str, self.path))] if self.path else []
        return ": ".join([*where, self.wrong, self.allowed])


class ConfigError(ValueError):
    """cdk.json, or what stands in its place, holds at least one mistake."""

    def __init__(self, mistakes: Iterable[Mistake], *, place: str = "cdk.json") -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(f"{place}: {mistake}" for mistake in self.mistakes))


def mistakes_of(error: ValidationError, model: type[BaseModel]) -> list[Mistake]:
    """Translate what pydantic found in a model."""
    found: list[Mistake] = []
    errors = error.errors(include_url=False)
    for details in errors:
        # A list without its wrong entries is too short: that is no mistake of its own.
        depth = len(details["loc"])
        if details["type"] == "too_short" and any(
            one["loc"][:depth] == details["loc"] and len(one["loc"]) > depth for one in errors
        ):
            continue
        cause = details.get("ctx", {}).get("error")
        if isinstance(cause, ConfigError):
            found += [mistake.under(_path(details)) for mistake in cause.mistakes]
        else:
            found.append(_mistake(details, model))
    return found


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """Return a question that names the nearest of the known words, if one is near."""
    by_small_letters = {word.lower(): word for word in known}
    word = str(given).lower()
    near = difflib.get_close_matches(word, by_small_letters, n=1, cutoff=0.74)
    near = near or [known for known in by_small_letters if len(word) > 2 and known.startswith(word)]
    return f"did you mean {by_small_letters[near[0]]}?" if near else ""


def one_of(given: object, known: Iterable[str]) -> str:
    """Say which words are allowed, and which one is near to what was given."""
    words = tuple(known)
    return with_question(f"one of {', '.join(words)}", did_you_mean(given, words))


def with_question(allowed: str, question: str) -> str:
    return f"{allowed}; {question}" if question else allowed


def _mistake(details: ErrorDetails, model: type[BaseModel]) -> Mistake:
    path = _path(details)
    if details["type"] == "extra_forbidden":
        return Mistake(path, "unknown key", _known_keys(model, path))
    is_key = "[key]" in details["loc"]
    annotation, rule = _walk(model, path[:-1] if is_key else path)
    if is_key:
        annotation = _bare(get_args(annotation)[0])
    question = did_you_mean(details["input"], map(str, _values(annotation)))
    return Mistake(path, _wrong(details), with_question(rule, question))


def _path(details: ErrorDetails) -> Path:
    return tuple(part for part in details["loc"] if part != "[key]")


def _wrong(details: ErrorDetails) -> str:
    kind = details["type"]
    if kind == "missing":
        return "is missing"
    given = json.dumps(details["input"], ensure_ascii=False)
    shown = given if len(given) <= 60 else f"{given[:57]}..."
    if kind.endswith(("_type", "_parsing")):
        return f"{shown} has the wrong type"
    return f"{shown} is not allowed"


def _known_keys(model: type[BaseModel], path: Path) -> str:
    annotation, _ = _walk(model, path[:-1])
    known = sorted(annotation.model_fields) if _is_model(annotation) else []
    return did_you_mean(path[-1], known) or f"allowed are {', '.join(known)}"


def allowed(field: FieldInfo) -> str:
    """Say what a setting takes: by its type and bounds, and what its description adds."""
    found = _choices(_bare(field.annotation)) or _range(field.metadata)
    description = field.description or "..."
    return found + description[3:] if description.startswith("...") else description


def _choices(annotation: Any) -> str:
    if _is_model(annotation):
        return f"{{{', '.join(annotation.model_fields)}}}"
    values = _values(annotation)
    if not values:
        return ""
    *most, last = map(str, values)
    return f"{', '.join(most)} or {last}"


def _values(annotation: Any) -> tuple[Any, ...]:
    """Return the values that a setting can have, if they can be listed."""
    if annotation is bool:
        return ("true", "false")
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return tuple(annotation)
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _range(metadata: Iterable[Any]) -> str:
    limits = {type(limit): limit for limit in metadata}
    most = limits[Le].le if Le in limits else None
    if Gt in limits:
        return f"above {limits[Gt].gt}, at most {most}"
    least = limits[Ge].ge if Ge in limits else None
    return f"at least {least}" if most is None else f"{least} to {most}"


def _walk(model: type[BaseModel], path: Path) -> tuple[Any, str]:
    """Follow a path through the annotations; return the last one and what its field allows."""
    annotation: Any = model
    rule = "an object"
    for part in path:
        if _is_model(annotation) and part in annotation.model_fields:
            field = annotation.model_fields[part]
            annotation, rule = _bare(field.annotation), allowed(field)
        elif get_origin(annotation) in (dict, Mapping):
            annotation = _bare(get_args(annotation)[1])
        elif get_origin(annotation) is tuple:
            annotation = _bare(get_args(annotation)[0])
    return annotation, rule


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) in (Annotated, Union, UnionType):
        inner = [part for part in get_args(annotation) if part is not NoneType]
        annotation = inner[0]
    return annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
