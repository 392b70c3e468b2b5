"""embedq in a service: `from embedq import search, wait, status, embed`.

Each finds the stage by the outputs of its stack, once per process, with the credentials, the region
and the endpoint (`AWS_ENDPOINT_URL`) of the environment: in AWS and at home alike.
"""

import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, TypeGuard

from functions.core.identity import DocumentId
from functions.core.search import Mode, SearchAnswer
from functions.core.settings import SourceSettings
from ops import documents, searching
from ops.deployment import Deployment, find_stage
from ops.documents import DocumentStatus
from ops.embedding import EmbeddedNow, embed_now, known_row
from ops.items import id_of, python_key, read_key, typed_key
from ops.output import UsageError
from ops.waiting import NotFoundYetError, Waited, waiting

STAGE_VARIABLE = "EMBEDQ_STAGE"

# The values of an item's key by attribute, the one value of a key of one attribute, or the id of a
# document that a search found. A text may stand for a number.
Key = str | int | Decimal | bytes | Mapping[str, Any]


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
        _deployment(_named(stage)),
        query=query,
        filters=_several(filters),
        without=_several(without),
        sources=_several(sources),
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
    deployment = _deployment(_named(stage))
    origin = deployment.source(source)
    name = (
        document
        if _is_id(document, origin)
        else id_of(python_key(_values(document, origin), origin), origin)
    )
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
    Raise a TimeoutError after so many seconds, or when the last write was given up; a UsageError
    at once where neither the table nor the ledger knows the document; a FailureError at once
    where the rights to look are missing.
    """
    deployment = _deployment(_named(stage))
    origin = deployment.source(source)
    name, key = _known(deployment, origin, document)
    chosen = waiting(deployment, origin, name, key, target=target)
    chosen.check_known()
    try:
        return chosen.until_found(seconds)
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
    deployment = _deployment(_named(stage))
    origin, goal = deployment.pair(source, target)
    name, key = _known(deployment, origin, document)
    row = known_row(deployment, origin, goal, name, key)
    return embed_now(deployment, row, seconds)


def _named(stage: str | None) -> str:
    named = stage or os.environ.get(STAGE_VARIABLE)
    if not named:
        raise UsageError(f"which stage? Name it with `stage`, or in {STAGE_VARIABLE}")
    return named


@cache
def _deployment(stage: str) -> Deployment:
    return find_stage(stage)


def _several(given: Sequence[str]) -> tuple[str, ...]:
    """Take a text as a list of one: for Python it is a list of its letters."""
    return (given,) if isinstance(given, str) else tuple(given)


def _known(
    deployment: Deployment, source: SourceSettings, document: Key
) -> tuple[DocumentId, Mapping[str, Any]]:
    """Return the id and the key of a document, as the table spells them."""
    if _is_id(document, source):
        return read_key(deployment, source, document)
    key = typed_key(deployment, source, _values(document, source))
    return id_of(key, source), key


def _is_id(document: Key, source: SourceSettings) -> TypeGuard[str]:
    """Say whether this is an id, as a search names it: no text is a key of several attributes."""
    return isinstance(document, str) and len(source.key) > 1


def _values(document: Key, source: SourceSettings) -> Mapping[str, Any]:
    values = document if isinstance(document, Mapping) else {source.key[0]: document}
    if set(values) != set(source.key):
        names = ", ".join(source.key)
        raise UsageError(f"the key of {source.name} has {names}: pass an object with all of them")
    return values
