"""Search from the command line: what is asked and what is shown."""

import pytest

from functions.adapters.opensearch_search import Hit
from ops.deployment import Deployment, UsageError
from ops.searching import SHOWN_CHARACTERS, find, show


def test_filter_without_a_value_is_refused_before_anything_is_paid(
    deployment: Deployment,
) -> None:
    """R48: the deployment here has neither a key nor an index to ask."""
    with pytest.raises(UsageError, match="--filter is FIELD=VALUE, not 'author'"):
        find(deployment, "anything", filters=["author"])


def test_hit_is_one_short_line() -> None:
    """R48: whatever the text looks like."""
    hit = Hit("articles", "a", "document", 0.91234, "two\nlines " + 200 * "x", {})

    [line] = show([hit])

    assert line.startswith("0.912  a  two lines xxx")
    assert line.endswith("...")
    assert len(line) == len("0.912  a  ") + SHOWN_CHARACTERS


def test_nothing_found_is_said() -> None:
    """R48: an empty answer is an answer."""
    assert show([]) == ["nothing found"]
