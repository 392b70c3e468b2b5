"""Search from the command line, through the function that applications use."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ops.frame import TARGET, Noun
from ops.numbers import Amount, Count
from ops.output import Answer, CommandError, UsageError, table

if TYPE_CHECKING:
    from functions.core.entry import Hit
    from functions.core.search import Mode, SearchAnswer, SearchRequest
    from ops.deployment import Deployment

SHOWN_CHARACTERS = 100
BAD_REQUEST = 400
NOUN = Noun("Documents")


class FoundDocument(Answer):
    """A document that was found, with its best passage."""

    source: str
    document: str
    score: float
    text: str
    start: int | None = None  # of the passage in the document's text
    metadata: dict[str, Any]


class Found(Answer):
    """A page of what was found, the best first."""

    documents: tuple[FoundDocument, ...]
    mode: str = "hybrid"
    notes: tuple[str, ...] = ()
    next: str | None = None

    def view(self) -> Iterable[Any]:
        if not self.documents:
            return [*self.notes, "nothing found"]
        # An id means little where several sources answer.
        is_one = len({one.source for one in self.documents}) == 1
        rows = [
            (
                f"{one.score:.3f}",
                *([] if is_one else [one.source]),
                one.document,
                _short(one.text),
                _metadata(one.metadata),
            )
            for one in self.documents
        ]
        columns = ["score", *([] if is_one else ["source"]), "document", "passage", "metadata"]
        more = [f"more: --cursor {self.next}"] if self.next else []
        return [*self.notes, table(columns, rows), *more]


@NOUN.stack_command(
    click.Argument(["query"], help="What to look for, in any words."),
    click.Option(
        ["--most"],
        type=Count(min=1, max=200),
        default=5,
        show_default=True,
        help="How many documents on a page.",
    ),
    click.Option(
        ["filters", "--filter"],
        multiple=True,
        metavar="FIELD=VALUE",
        help="Only with this metadata; also >=, <=, > and <. Twice with = means either.",
    ),
    click.Option(
        ["without", "--not"], multiple=True, metavar="FIELD=VALUE", help="Not with this metadata."
    ),
    click.Option(["mode", "--hybrid"], flag_value="hybrid", default=True, help="Both (default)."),
    click.Option(["mode", "--knn"], flag_value="knn", help="By meaning alone."),
    click.Option(["mode", "--text"], flag_value="text", help="By words alone."),
    click.Option(
        ["--weight"],
        type=Amount(0, 1),
        default=0.5,
        show_default=True,
        help="The share of meaning in --hybrid.",
    ),
    click.Option(["--min-score"], type=Amount(min=0), help="Only with at least this score."),
    click.Option(
        ["sources", "--source"], multiple=True, metavar="NAME", help="Only of this source."
    ),
    click.Option(["--cursor"], help="The next page, as the last answer names it."),
    TARGET,
    examples=[
        'search "a clever bird"',
        'search "harvest" --filter author=aesop --filter author=phaedrus --most 3',
        "search harvest --filter 'published>=2024-08-01' --not author=aesop --text",
    ],
)
def search(
    deployment: "Deployment",
    query: str,
    *,
    most: int = 5,
    filters: Sequence[str] = (),
    without: Sequence[str] = (),
    mode: "Mode" = "hybrid",
    weight: float = 0.5,
    min_score: float | None = None,
    sources: Sequence[str] = (),
    cursor: str | None = None,
    target: str | None = None,
) -> Found:
    """Find documents by meaning and by words."""
    answer = ask(
        deployment,
        query=query,
        size=most,
        filters=tuple(filters),
        without=tuple(without),
        mode=mode,
        weight=weight,
        min_score=min_score,
        sources=tuple(sources),
        cursor=cursor,
        target=deployment.target(target).name,
    )
    return Found(
        documents=tuple(
            FoundDocument(
                source=one.source,
                document=one.document,
                score=one.score,
                text=one.passage.text,
                start=one.passage.start,
                metadata=one.metadata,
            )
            for one in answer.results
        ),
        mode=answer.mode,
        notes=answer.notes,
        next=answer.next,
    )


def find(
    deployment: "Deployment",
    query: str,
    *,
    target: str | None = None,
    most: int = 5,
    filters: Sequence[str] = (),
) -> "list[Hit]":
    """Return the nearest documents by meaning."""
    from functions.core.entry import Hit

    answer = ask(
        deployment,
        query=query,
        target=deployment.target(target).name,
        size=most,
        filters=tuple(filters),
        mode="knn",
    )
    return [
        Hit(
            source=one.source,
            document_id=one.document,
            type=one.type,
            score=one.score,
            text=one.passage.text,
            start=one.passage.start,
            metadata=one.metadata,
        )
        for one in answer.results
    ]


def ask(deployment: "Deployment", **asked: Any) -> "SearchAnswer":
    """Ask the search function; a wrong question is a UsageError.

    Where no target is named, the function knows which one is meant, also after a migration that
    began or ended while this process ran.
    """
    from functions.core.failure import FailureError
    from functions.core.search import SearchAnswer
    from ops.index_questions import call_function

    question = _request(asked).model_dump(mode="json", by_alias=True, exclude_defaults=True)
    function = deployment.outputs["SearchFunction"]
    try:
        answer = call_function(deployment.lambda_, function, question)
    except FailureError as error:
        raise CommandError(f"the search failed: {error}") from error
    match answer:
        case {"error": {"status": int(status), "message": str(message)}}:
            failed = UsageError if status == BAD_REQUEST else CommandError
            raise failed(f"the search failed: {message}")
    return SearchAnswer.model_validate(answer)


def _request(asked: dict[str, Any]) -> "SearchRequest":
    from pydantic import ValidationError

    from functions.core.search import SearchRequest

    if not str(asked["query"]).strip():
        raise UsageError("the query is empty: name what to look for")
    try:
        return SearchRequest.model_validate(asked)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False)
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"the search cannot be asked: {where}: {first['msg']}") from None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 3] + "..."


def _metadata(values: dict[str, Any]) -> str:
    """Write metadata as a filter takes it."""
    pairs = (
        (name, one)
        for name, value in values.items()
        for one in (value if isinstance(value, list) else [value])
    )
    return _short(" ".join(f"{name}={_value(one)}" for name, one in pairs))


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
