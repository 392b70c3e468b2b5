"""Search from the command line: what is asked and what is shown."""

import pytest

from ops.deployment import Deployment
from ops.output import UsageError, as_text
from ops.searching import SHOWN_CHARACTERS, Found, FoundDocument, find


def test_filter_without_a_value_is_refused_before_anything_is_paid(
    deployment: Deployment,
) -> None:
    """R48: the deployment here has neither a key nor an index to ask."""
    with pytest.raises(UsageError, match="--filter is FIELD=VALUE, not 'author'"):
        find(deployment, "anything", filters=["author"])


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
