"""Search from the command line: what is asked and what is shown."""

import io
import json
from typing import Any

import pytest
from botocore.config import Config

from ops.deployment import Deployment
from ops.output import CommandError, UsageError, as_text
from ops.searching import SHOWN_CHARACTERS, Found, FoundDocument, ask, find, search

RESULT: dict[str, Any] = {
    "source": "articles",
    "document": "a",
    "type": "article",
    "score": 0.9,
    "passage": {"text": "a bird", "start": 3, "end": 9},
    "metadata": {"author": "aesop"},
}
ANSWER = {"results": [RESULT], "mode": "knn", "index": "articles-1", "next": "page-2"}


class Function:
    """A client of Lambda that answers as the search function does."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:
        assert FunctionName == "search"
        self.asked.append(json.loads(Payload))
        return {"Payload": io.BytesIO(json.dumps(self.answer).encode())}


def connected(deployment: Deployment, function: Function) -> Deployment:
    class Connected(Deployment):
        def client(self, service: Any, config: Config | None = None) -> Any:
            return function if service == "lambda" else super().client(service, config)

    outputs = deployment.outputs | {"SearchFunction": "search"}
    return Connected(outputs, deployment.session, deployment.endpoint_url)


def test_options_become_one_request(deployment: Deployment) -> None:
    """R48 R51: only what differs from the usual is sent."""
    function = Function(ANSWER)

    found = search(
        connected(deployment, function),
        "a bird",
        most=3,
        filters=["author=aesop", "year>=2020"],
        without=["author=phaedrus"],
        mode="knn",
        min_score=0.5,
        sources=["articles"],
        cursor="page-1",
        target="default",
    )

    assert function.asked == [
        {
            "query": "a bird",
            "target": "default",
            "sources": ["articles"],
            "filters": ["author=aesop", "year>=2020"],
            "not": ["author=phaedrus"],
            "mode": "knn",
            "min_score": 0.5,
            "size": 3,
            "cursor": "page-1",
        }
    ]
    [document] = found.documents
    assert (document.document, document.text, document.start) == ("a", "a bird", 3)


def test_found_by_meaning_as_hits(deployment: Deployment) -> None:
    """R48: what demo and smoke look at."""
    function = Function(ANSWER)

    [hit] = find(connected(deployment, function), "a bird", most=1, filters=["a=b"])

    assert (hit.document_id, hit.text, hit.score, hit.start) == ("a", "a bird", 0.9, 3)
    [asked] = function.asked
    assert (asked["mode"], asked["size"], asked["filters"]) == ("knn", 1, ["a=b"])


def test_metadata_is_shown_as_a_filter_takes_it(deployment: Deployment) -> None:
    """R48: what is seen can be asked for: `--filter read=True` would be refused."""
    metadata = {"read": True, "year": 2024, "author": ["aesop", "phaedrus"]}
    function = Function(ANSWER | {"results": [RESULT | {"metadata": metadata}]})

    text = as_text(search(connected(deployment, function), "a bird"))

    assert "read=true year=2024 author=aesop author=phaedrus" in text


def test_source_is_shown_where_several_answer(deployment: Deployment) -> None:
    """R48: an id alone names no document of theirs."""
    function = Function(ANSWER | {"results": [RESULT, RESULT | {"source": "notes"}]})
    several = as_text(search(connected(deployment, function), "a bird"))
    one = as_text(search(connected(deployment, Function(ANSWER)), "a bird"))

    assert [line.split()[1] for line in several.splitlines()[:3]] == ["source", "articles", "notes"]
    assert "articles" not in one


@pytest.mark.parametrize("target", [None, "default", "large"])
def test_application_sends_a_target_only_if_it_was_named(
    deployment: Deployment, target: str | None
) -> None:
    """R44 R48: the function knows them all; an application knows those of when it began."""
    function = Function(ANSWER)

    ask(connected(deployment, function), query="a bird", target=target)

    assert [asked.get("target") for asked in function.asked] == [target]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"query": " "}, "the query is empty"),
        ({"query": "x" * 9000}, "the search cannot be asked: query: String should have at most"),
        ({"query": "a", "most": 201}, "the search cannot be asked: size: Input should be less"),
    ],
)
def test_wrong_use_is_refused_before_the_function_is_called(
    deployment: Deployment, asked: dict[str, Any], message: str
) -> None:
    """R48: exit code 2."""
    function = Function(ANSWER)

    with pytest.raises(UsageError) as caught:
        search(connected(deployment, function), **asked)

    assert str(caught.value.message).startswith(message)
    assert function.asked == []


@pytest.mark.parametrize(("status", "kind"), [(400, UsageError), (503, CommandError)])
def test_refusal_of_the_function_is_shown(
    deployment: Deployment, status: int, kind: type[CommandError]
) -> None:
    """R48: a wrong question is wrong use, a failing index is a failure."""
    function = Function({"error": {"status": status, "message": "because"}})

    with pytest.raises(CommandError, match="the search failed: because") as caught:
        search(connected(deployment, function), "a bird")

    assert type(caught.value) is kind


def test_hit_is_one_short_line() -> None:
    """R48: whatever the text looks like; with its metadata."""
    text = "two\nlines " + 200 * "x"
    hit = FoundDocument(
        source="articles", document="a", score=0.91234, text=text, metadata={"year": 2026}
    )

    [_, line, more] = as_text(Found(documents=(hit,), next="abc")).splitlines()

    score, document, *rest = line.split(maxsplit=2)
    assert (score, document) == ("0.912", "a")
    passage, _, metadata = rest[0].rpartition("  ")
    assert passage.startswith("two lines xxx")
    assert passage.strip().endswith("...")
    assert len(passage.strip()) == SHOWN_CHARACTERS
    assert metadata == "year=2026"
    assert more == "more: --cursor abc"


def test_answer_of_a_newer_function_is_understood(deployment: Deployment) -> None:
    """R51: an application keeps its client when the stage is updated."""
    newer = {**RESULT, "rank": 1, "passage": {**RESULT["passage"], "page": 2}}
    function = Function({**ANSWER, "results": [newer], "took": 12})

    found = search(connected(deployment, function), "a bird")

    assert [one.document for one in found.documents] == [RESULT["document"]]


def test_nothing_found_is_said_and_why() -> None:
    """R48: an empty answer is an answer."""
    assert as_text(Found(documents=())) == "nothing found"
    notes = ("by text alone: the provider's breaker is open",)
    assert as_text(Found(documents=(), notes=notes)).splitlines() == [*notes, "nothing found"]
