"""embedq in a service: `from embedq import search, wait, status, embed`.

Each finds the stage by the outputs of its stack, once per process, with the credentials, the region
and the endpoint (`AWS_ENDPOINT_URL`) of the environment: in AWS and at home alike.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.identity import document_id
from functions.core.search import Mode, SearchAnswer
from functions.core.settings import SourceSettings
from ops import documents, searching
from ops.deployment import Deployment, find_stage
from ops.documents import DocumentStatus
from ops.embedding import EmbeddedNow, embed_now, known_row
from ops.output import UsageError
from ops.waiting import NotFoundYetError, Waited, waiting

STAGE_VARIABLE = "EMBEDQ_STAGE"

# The values of an item's key by attribute; a text where the key has one attribute.
Key = str | Mapping[str, Any]


def search(
    query: str,
    *,
    filters: Sequence[str] = (),
    without: Sequence[str] = (),
    sources: Sequence[str] = (),
    mode: Mode = "hybrid",
    weight: float = 0.5,
    min_score: float | None = None,
    size: int = 10,
    cursor: str | None = None,
    target: str | None = None,
    stage: str | None = None,
) -> SearchAnswer:
    """Find documents by meaning and by words; `cursor` is `next` of the page before."""
    return searching.ask(
        _deployment(stage),
        query=query,
        filters=tuple(filters),
        without=tuple(without),
        sources=tuple(sources),
        mode=mode,
        weight=weight,
        min_score=min_score,
        size=size,
        cursor=cursor,
        target=target,
    )


def status(
    document: Key,
    *,
    source: str | None = None,
    target: str | None = None,
    stage: str | None = None,
) -> DocumentStatus:
    """Return the state and the errors of a document, as the ledger knows them."""
    deployment = _deployment(stage)
    name = document_id(_key(document, deployment.source(source)), deployment.source(source).key)
    return documents.status(deployment, name, source=source, target=target)


def wait(
    document: Key,
    *,
    source: str | None = None,
    target: str | None = None,
    stage: str | None = None,
    seconds: float = 60.0,
) -> Waited:
    """Return when a search finds the document as its table has it now.

    For a deleted item, when no search finds it. Without a target, in all that its source feeds.
    Raise a TimeoutError after so many seconds, or when the last write was given up.
    """
    deployment = _deployment(stage)
    origin = deployment.source(source)
    key = _key(document, origin)
    name = document_id(key, origin.key)
    try:
        return waiting(deployment, origin, name, key, target=target).until_found(seconds)
    except NotFoundYetError as error:
        raise TimeoutError(error.message) from error


def embed(
    document: Key,
    *,
    source: str | None = None,
    target: str | None = None,
    stage: str | None = None,
    seconds: float = 120.0,
) -> EmbeddedNow:
    """Embed one document now, in this process, past queues and functions.

    Without a target, in the only one. Its `error` says why it failed; the sweep then goes on.
    """
    deployment = _deployment(stage)
    origin, goal = deployment.pair(source, target)
    key = _key(document, origin)
    row = known_row(deployment, origin, goal, document_id(key, origin.key), key)
    return embed_now(deployment, row, seconds)


@cache
def _deployment(stage: str | None) -> Deployment:
    named = stage or os.environ.get(STAGE_VARIABLE)
    if not named:
        raise UsageError(f"which stage? Name it with `stage`, or in {STAGE_VARIABLE}")
    return find_stage(named)


def _key(document: Key, source: SourceSettings) -> dict[str, Any]:
    if isinstance(document, Mapping):
        return to_dynamodb(document)
    if len(source.key) > 1:
        names = ", ".join(source.key)
        raise UsageError(f"the key of {source.name} has {names}: pass an object with all of them")
    return to_dynamodb({source.key[0]: document})
