"""What a search asks and what it answers: the same for the function, the command and the client."""

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from functions.core.filters import Condition
from functions.core.frozen import Frozen

if TYPE_CHECKING:
    from functions.core.entry import Vector

# All that a search finds, on all its pages. Each page looks at as many, so that all have one order.
MOST_RESULTS = 200

Mode = Literal["hybrid", "knn", "text"]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=8000)]
ConditionText = Annotated[str, StringConstraints(max_length=1000)]


class SearchRequest(Frozen):
    """A question of an application, as JSON."""

    model_config = ConfigDict(populate_by_name=True)

    query: Words
    target: str | None = None  # needed where a stage has several
    sources: tuple[str, ...] = Field((), max_length=20)  # none: all
    filters: tuple[ConditionText, ...] = Field((), max_length=50)
    without: tuple[ConditionText, ...] = Field((), max_length=50, alias="not")
    mode: Mode = "hybrid"
    weight: float = Field(0.5, ge=0, le=1)  # of meaning in hybrid; the rest is that of the words
    min_score: float | None = Field(None, allow_inf_nan=False)
    size: int = Field(10, ge=1, le=MOST_RESULTS)
    cursor: str | None = Field(None, max_length=1000)


# A client that is older than the function passes over what it does not know.
class Passage(Frozen, extra="ignore"):
    """The best chunk, and where it stands in the document's text, in characters."""

    text: str
    start: int | None = None  # None: indexed by a version that did not note it
    end: int | None = None


class SearchResult(Frozen, extra="ignore"):
    """A document that was found."""

    source: str
    document: str
    type: str
    score: float
    passage: Passage
    metadata: dict[str, Any]


class SearchAnswer(Frozen, extra="ignore"):
    """A page of what was found, the best first."""

    results: tuple[SearchResult, ...]
    mode: Mode  # as it was answered
    index: str
    notes: tuple[str, ...] = ()  # what is not as it was asked for, and why
    next: str | None = None  # the cursor of the next page


@dataclass(frozen=True)
class Question:
    """What an index is asked."""

    mode: Mode
    words: str = ""
    vector: "Vector | None" = None
    weight: float = 0.5
    sources: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    most: int = 10


@dataclass(frozen=True)
class ServedIndex:
    """The index behind a read alias, and what its vectors are."""

    name: str
    model: str
    dimensions: int


class CursorError(ValueError):
    """A cursor that belongs to no page of this search."""


@dataclass(frozen=True)
class PageStart:
    """Where a page begins: after so many results, which were answered in this mode."""

    results: int = 0
    mode: Mode | None = None

    def check(self, mode: Mode) -> None:
        """Refuse an answer in another mode than that of the pages before: it has another order."""
        if self.mode not in (None, mode):
            raise CursorError(
                f"the pages before were answered by {self.mode}, and now it is {mode}: begin"
                " without a cursor"
            )


def page_start(request: SearchRequest, index: str) -> PageStart:
    """Read the cursor; without one it is the first page."""
    if request.cursor is None:
        return PageStart()
    try:
        found = json.loads(base64.urlsafe_b64decode(request.cursor))
        start = PageStart(int(found["start"]), found.get("mode"))
        digest = found["search"]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise CursorError("the cursor is damaged: pass `next` of an answer as it is") from None
    if digest != _digest(request, index) or not 0 < start.results < MOST_RESULTS:
        raise CursorError("the cursor is that of another search or index: begin without one")
    return start


def next_cursor(request: SearchRequest, index: str, start: PageStart) -> str:
    """Write where the next page begins; it fits this search and this index only."""
    found = {"start": start.results, "mode": start.mode, "search": _digest(request, index)}
    return base64.urlsafe_b64encode(json.dumps(found).encode()).decode()


def _digest(request: SearchRequest, index: str) -> str:
    asked = request.model_dump(mode="json", exclude={"cursor", "size"})
    return hashlib.sha256(json.dumps([asked, index], sort_keys=True).encode()).hexdigest()[:16]
