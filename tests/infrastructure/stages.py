"""A good stage of cdk.json, with some values set, and the lines that its mistakes get."""

import copy
from typing import Any

import pytest

from infrastructure.config.mistakes import ConfigError
from infrastructure.config.parser import parse_stages

STAGE: dict[str, Any] = {
    "sources": {"articles": {"key": {"id": "S"}, "text": "{body}", "type_attribute": "type"}},
    "targets": {"default": {"model": "text-embedding-3-small"}},
    "opensearch": {"endpoint": "https://search.example.com"},
}
ARTICLES = ("sources", "articles")
DEFAULT = ("targets", "default")


def stage_with(
    *changes: tuple[tuple[str, ...], Any], good: dict[str, Any] = STAGE
) -> dict[str, Any]:
    """Return a good stage with some values set."""
    stage = copy.deepcopy(good)
    for path, value in changes:
        part = stage
        for key in path[:-1]:
            part = part.setdefault(key, {})
        part[path[-1]] = value
    return stage


def mistakes(stage: Any, name: str = "dev") -> list[str]:
    """Return the lines that a stage gets."""
    with pytest.raises(ConfigError) as caught:
        parse_stages({name: stage})
    return str(caught.value).splitlines()
