"""The event source mappings of a running stack, through the Lambda API."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from local.stack import LocalStack
from tests.stack.articles import Articles
from tests.waiting import until


@contextmanager
def disabled(stack: LocalStack, articles: Articles, lane: str) -> Iterator[None]:
    """Let a lane rest meanwhile."""
    functions = stack.client("lambda")
    uuid = _mapping(stack, articles, lane)["UUID"]
    functions.update_event_source_mapping(UUID=uuid, Enabled=False)
    try:
        until(lambda: _mapping(stack, articles, lane)["State"] == "Disabled", "it is disabled")
        yield
    finally:
        functions.update_event_source_mapping(UUID=uuid, Enabled=True)


def _mapping(stack: LocalStack, articles: Articles, lane: str) -> Any:
    queue = articles.lane(lane).rsplit("/", 1)[-1]
    mappings = stack.client("lambda").list_event_source_mappings()["EventSourceMappings"]
    return next(found for found in mappings if found["EventSourceArn"].endswith(f":{queue}"))
