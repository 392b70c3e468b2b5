"""Search from the command line: what is asked and what is shown."""

from dataclasses import replace

import pytest

from ops.deployment import Deployment
from ops.output import UsageError, as_text
from ops.searching import SHOWN_CHARACTERS, Found, FoundDocument, find
from tests.builders import make_source


@pytest.mark.parametrize(
    ("query", "condition", "message"),
    [
        ("anything", "author", "--filter is FIELD=VALUE, not 'author'"),
        ("anything", "=aesop", "--filter is FIELD=VALUE, not '=aesop'"),
        ("anything", "writer=aesop", "no source has the metadata writer; there is: author"),
        (" ", "author=aesop", "the query is empty"),
    ],
)
def test_search_without_an_answer_is_refused_before_anything_is_paid(
    deployment: Deployment, query: str, condition: str, message: str
) -> None:
    """R48: the deployment here has neither a key nor an index to ask."""
    source = make_source(metadata={"author": "keyword"}).model_dump_json()
    known = replace(deployment, outputs=deployment.outputs | {"SourceArticlesSettings": source})

    with pytest.raises(UsageError, match=message):
        find(known, query, filters=[condition])


def test_hit_is_one_short_line() -> None:
    """R48: whatever the text looks like."""
    text = "two\nlines " + 200 * "x"
    hit = FoundDocument(source="articles", document="a", score=0.91234, text=text, metadata={})

    [_, line] = as_text(Found(documents=(hit,))).splitlines()

    score, document, *rest = line.split(maxsplit=2)
    assert (score, document) == ("0.912", "a")
    assert rest[0].startswith("two lines xxx")
    assert rest[0].endswith("...")
    assert len(rest[0]) == SHOWN_CHARACTERS


def test_nothing_found_is_said() -> None:
    """R48: an empty answer is an answer."""
    assert as_text(Found(documents=())) == "nothing found"
