"""Search from the command line."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ops.frame import TARGET, Noun
from ops.output import Answer, CommandError, UsageError, table

if TYPE_CHECKING:
    from functions.core.entry import Hit
    from ops.deployment import Deployment

TIMEOUT_SECONDS = 30.0
SHOWN_CHARACTERS = 100
BAD_REQUEST = 400
NOUN = Noun("Documents")


class FoundDocument(Answer):
    """A document near to what was asked for, with its best text."""

    source: str
    document: str
    score: float
    text: str
    metadata: dict[str, Any]


class Found(Answer):
    """The nearest documents, the best first."""

    documents: tuple[FoundDocument, ...]

    def view(self) -> Iterable[Any]:
        if not self.documents:
            return ["nothing found"]
        rows = [(f"{one.score:.3f}", one.document, _short(one.text)) for one in self.documents]
        return [table(["score", "document", "text"], rows)]


@NOUN.stack_command(
    click.Argument(["query"], help="What to look for, in any words."),
    click.Option(
        ["--most"],
        type=click.IntRange(min=1),
        default=5,
        show_default=True,
        help="How many documents at most.",
    ),
    click.Option(
        ["filters", "--filter"],
        multiple=True,
        metavar="FIELD=VALUE",
        help="Only with this metadata.",
    ),
    TARGET,
    examples=['search "a clever bird"', 'search "harvest" --filter author=aesop --most 3'],
)
def search(
    deployment: "Deployment",
    query: str,
    *,
    most: int = 5,
    filters: Sequence[str] = (),
    target: str | None = None,
) -> Found:
    """Find documents by meaning."""
    hits = find(deployment, query, target=target, most=most, filters=filters)
    return Found(
        documents=tuple(
            FoundDocument(
                source=hit.source,
                document=hit.document_id,
                score=hit.score,
                text=hit.text,
                metadata=dict(hit.metadata),
            )
            for hit in hits
        )
    )


def find(
    deployment: "Deployment",
    query: str,
    *,
    target: str | None = None,
    most: int = 5,
    filters: Sequence[str] = (),
) -> "list[Hit]":
    """Embed the query and return the nearest documents."""
    from functions.adapters.opensearch_http import OpenSearchError
    from functions.adapters.opensearch_index import search
    from functions.adapters.providers import make_embedder
    from functions.adapters.secret import ApiKey
    from functions.core.failure import FailureError

    settings = deployment.target(target)
    # Before anything is paid.
    if not query.strip():
        raise UsageError("the query is empty: name what to look for")
    metadata = dict(map(_filter, filters))
    known = {field for source in deployment.sources.values() for field in source.metadata}
    if unknown := metadata.keys() - known:
        raise UsageError(
            f"no source has the metadata {', '.join(sorted(unknown))}; there is:"
            f" {', '.join(sorted(known)) or 'none'}"
        )
    key = ApiKey(deployment.client("secretsmanager"), deployment.secret_arn(settings.name))
    embedder = make_embedder(settings, key, is_query=True, client=deployment.session.client)
    try:
        answer = embedder.embed([settings.query_prefix + query], timeout_seconds=TIMEOUT_SECONDS)
        return search(
            deployment.index, settings.index, answer.vectors[0], most=most, metadata=metadata
        )
    except (FailureError, OpenSearchError) as error:
        is_refused = isinstance(error, OpenSearchError) and error.status == BAD_REQUEST
        failed = UsageError if is_refused else CommandError
        raise failed(f"the search failed: {error}") from error


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 3] + "..."


def _filter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UsageError(f"--filter is FIELD=VALUE, not {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
