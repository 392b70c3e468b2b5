"""Answers a question: which index serves it, what its vector is, what is found, and what to say.

Never the question's text in a log.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from functions.core.entry import Hit, Vector
from functions.core.failure import FailureError, FailureKind
from functions.core.filters import FilterError, conditions, merged
from functions.core.names import first_index, read_alias
from functions.core.ports import HybridMissingError, SearchIndex
from functions.core.search import (
    MOST_RESULTS,
    CursorError,
    Mode,
    PageStart,
    Passage,
    Question,
    SearchAnswer,
    SearchRequest,
    SearchResult,
    ServedIndex,
    next_cursor,
    page_start,
)
from functions.core.search_shape import MOST_FILTER_WORDS, filter_words
from functions.core.settings import SourceSettings, TargetSettings, unnamed_target

BAD_REQUEST = 400
UNAVAILABLE = 503
# Lambda answers with 6 MB at most; the rest is the frame around the results.
MOST_BYTES = 5_500_000
OLD_INDEX = "by meaning alone: hybrid search with passages needs OpenSearch 3.0 or newer"


class SearchError(Exception):
    """A search without an answer: a wrong question (400), or an index that fails (503)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Search:
    """The step with its adapters."""

    index: SearchIndex
    vector_of: Callable[[TargetSettings, str], Vector]  # raises a FailureError
    why_stopped: Callable[[TargetSettings], str | None]  # why the provider is not asked now
    targets: Mapping[str, TargetSettings]
    sources: Sequence[SourceSettings]

    def answer(self, request: SearchRequest) -> SearchAnswer:
        """Answer one question; raise a SearchError where there is no answer."""
        asked = self._target(request.target)
        question = self._question(request, asked)
        try:
            # By its name from here on: an alias that moves meanwhile cannot mix two models.
            served = self.index.behind(read_alias(asked.index))
            target = self._target_of(served)
            start = page_start(request, served.name)
            most = min(start.results + request.size + 1, MOST_RESULTS)
            question = replace(question, most=most)
            question, notes = self._with_vector(question, target)
            hits, mode, more = self._ask(served.name, question)
            start.check(mode)
        except CursorError as error:
            raise SearchError(BAD_REQUEST, str(error)) from error
        except FailureError as error:
            raise SearchError(UNAVAILABLE, error.failure.message) from error
        return _page(request, served.name, hits, start, mode, (*notes, *more))

    def _target(self, name: str | None) -> TargetSettings:
        found = unnamed_target(self.targets) if name is None else self.targets.get(name)
        if found is None:
            known = ", ".join(sorted(self.targets))
            raise SearchError(BAD_REQUEST, f"which target? `target` is one of: {known}")
        return found

    def _question(self, request: SearchRequest, target: TargetSettings) -> Question:
        feeding = {one.name: one for one in self.sources if target.name in one.targets}
        if unknown := set(request.sources) - feeding.keys():
            named, known = ", ".join(sorted(unknown)), ", ".join(sorted(feeding))
            message = f"no source {named} feeds the target {target.name}; there is: {known}"
            raise SearchError(BAD_REQUEST, message)
        asked = [one.metadata for name, one in feeding.items() if name in request.sources]
        known_fields = merged(asked or [one.metadata for one in feeding.values()])
        try:
            tests = conditions(request.filters, request.without, known_fields)
        except FilterError as error:
            raise SearchError(BAD_REQUEST, str(error)) from error
        if filter_words(tests) > MOST_FILTER_WORDS:
            message = f"the filters have more than {MOST_FILTER_WORDS} words: shorten them"
            raise SearchError(BAD_REQUEST, message)
        return Question(
            mode=request.mode,
            words=request.query,
            weight=request.weight,
            sources=request.sources,
            conditions=tests,
        )

    def _target_of(self, served: ServedIndex) -> TargetSettings:
        """Return the target that fills an index: its model embeds the question."""
        filling = [one for one in self.targets.values() if first_index(one.index) == served.name]
        if not filling:
            raise SearchError(UNAVAILABLE, f"no target of this stage fills the index {served.name}")
        target = filling[0]
        if (target.model, target.dimensions) != (served.model, served.dimensions):
            message = (
                f"the index {served.name} holds vectors of {served.model} with {served.dimensions}"
                f" dimensions, and target {target.name} has {target.model} with {target.dimensions}"
            )
            raise SearchError(UNAVAILABLE, message)
        return target

    def _with_vector(
        self, question: Question, target: TargetSettings
    ) -> tuple[Question, tuple[str, ...]]:
        """Add the question's vector; while there is none to be had, ask by its words alone."""
        if question.mode == "text":
            return question, ()
        reason = self.why_stopped(target)
        if reason is None:
            try:
                return replace(question, vector=self.vector_of(target, question.words)), ()
            except FailureError as error:
                if error.failure.kind is FailureKind.INVALID_INPUT:
                    message = f"the provider rejected the question: {error.failure.message}"
                    raise SearchError(BAD_REQUEST, message) from error
                reason = f"the provider failed ({error.failure.kind})"
        return replace(question, mode="text"), (f"by text alone: {reason}",)

    def _ask(self, index: str, question: Question) -> tuple[list[Hit], Mode, tuple[str, ...]]:
        try:
            return self.index.ask(index, question), question.mode, ()
        except HybridMissingError:
            nearest = replace(question, mode="knn")
            return self.index.ask(index, nearest), "knn", (OLD_INDEX,)


def _page(
    request: SearchRequest,
    index: str,
    hits: Sequence[Hit],
    start: PageStart,
    mode: Mode,
    notes: tuple[str, ...],
) -> SearchAnswer:
    """Cut the page out of what was found: the pages before it, and one hit after it, are there."""
    least = request.min_score
    if least is not None and mode != request.mode:
        least = None
        notes = (*notes, f"min_score was not applied: scores by {mode} have another scale")
    good = [hit for hit in hits if least is None or hit.score >= least]
    wanted = good[start.results : start.results + request.size]
    results = tuple(_fitting(map(_result, wanted)))
    end = PageStart(start.results + len(results), mode)
    has_more = end.results < min(len(good), MOST_RESULTS)
    return SearchAnswer(
        results=results,
        mode=mode,
        index=index,
        notes=notes,
        next=next_cursor(request, index, end) if has_more else None,
    )


def _fitting(results: Iterable[SearchResult]) -> Iterator[SearchResult]:
    """Yield the results that one answer holds, at least one; the others are on the next page."""
    size = 0
    for number, result in enumerate(results):
        # As JSON in the JSON of an answer by URL, which is the longest form.
        size += len(json.dumps(result.model_dump_json()))
        if number and size > MOST_BYTES:
            return
        yield result


def _result(hit: Hit) -> SearchResult:
    end = None if hit.start is None else hit.start + len(hit.text)
    return SearchResult(
        source=hit.source,
        document=hit.document_id,
        type=hit.type,
        score=hit.score,
        passage=Passage(text=hit.text, start=hit.start, end=end),
        metadata=dict(hit.metadata),
    )
