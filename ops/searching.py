"""Search from the command line."""

import json
from collections.abc import Sequence
from typing import Any

from functions.adapters.opensearch_http import OpenSearchError
from functions.adapters.opensearch_search import Hit, search
from functions.adapters.providers import make_embedder
from functions.adapters.secret import ApiKey
from functions.core.failure import FailureError
from ops.deployment import Deployment, UsageError

TIMEOUT_SECONDS = 30.0
SHOWN_CHARACTERS = 100


def find(
    deployment: Deployment,
    query: str,
    *,
    target: str | None = None,
    most: int = 5,
    filters: Sequence[str] = (),
) -> list[Hit]:
    """Embed the query and return the nearest documents."""
    settings = deployment.target(target)
    # Before anything is paid.
    metadata = dict(map(_filter, filters))
    key = ApiKey(deployment.client("secretsmanager"), deployment.secret_arn(settings.name))
    try:
        answer = make_embedder(settings, key).embed([query], timeout_seconds=TIMEOUT_SECONDS)
        return search(
            deployment.index,
            settings.index,
            answer.vectors[0],
            most=most,
            metadata=metadata,
        )
    except (FailureError, OpenSearchError) as error:
        raise UsageError(f"the search failed: {error}") from error


def show(hits: Sequence[Hit]) -> list[str]:
    """Write hits for people."""
    if not hits:
        return ["nothing found"]
    return [f"{hit.score:.3f}  {hit.document_id}  {_short(hit.text)}" for hit in hits]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 3] + "..."


def _filter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--filter is FIELD=VALUE, not {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
