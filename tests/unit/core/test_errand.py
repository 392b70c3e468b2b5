"""Messages of the function backfill to itself."""

import pytest

from functions.core.errand import (
    Errand,
    MalformedErrandError,
    ProofErrand,
    SegmentErrand,
    parse_errand,
    to_json,
)


@pytest.mark.parametrize("errand", [SegmentErrand("job", 3), ProofErrand("default/articles")])
def test_errand_is_read_as_it_was_written(errand: Errand) -> None:
    """R43 R56: a segment, or the proof of a pair."""
    assert parse_errand(to_json(errand)) == errand


@pytest.mark.parametrize("body", ["", "{}", "[]", '{"job": "a"}', '{"job": "a", "segment": "b"}'])
def test_foreign_message_is_refused_in_words(body: str) -> None:
    """R43: it ends in the dead letters."""
    with pytest.raises(
        MalformedErrandError, match=r"^the message is no errand of the function backfill$"
    ):
        parse_errand(body)
