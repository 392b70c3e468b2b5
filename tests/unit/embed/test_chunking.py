"""Chunks by tokens: complete, within the limit, stable under a local edit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.embed.chunking import count_tokens, split

PARAGRAPHS = [
    f"Paragraph {number} speaks of topic {number * 7919 % 1000}. " * (number % 5 + 3)
    for number in range(60)
]


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
@settings(max_examples=200, deadline=None)
def test_no_word_is_lost(text: str) -> None:
    """R11: every character but white space between chunks is in one of them."""
    joined = "".join("".join(chunk.split()) for chunk in split(text, max_tokens=10))

    assert joined == "".join(text.split())


def test_largest_item_is_split() -> None:
    """R11: 390 KB of text, as DynamoDB allows, within seconds and without a download."""
    text = "\n\n".join(PARAGRAPHS * 60)[:390_000]

    chunks = split(text, max_tokens=400)

    assert 200 < len(chunks) < 500


@pytest.mark.parametrize(
    "text",
    ["нет" * 5000, "漢字かな交じり文" * 1000, "👩‍👩‍👧" * 800, "\x00\x01\x02" * 3000, "a" * 40_000],
    ids=["cyrillic", "cjk", "emoji", "control", "one word"],
)
def test_any_script_is_split_within_the_limit(text: str) -> None:
    """R11: scripts without spaces and words without end are cut all the same."""
    chunks = split(text, max_tokens=100)

    assert len(chunks) > 1
    assert all(len(split(chunk, max_tokens=100)) == 1 for chunk in chunks)


@given(
    lengths=st.lists(st.integers(1, 60), min_size=60, max_size=60),
    place=st.integers(0, 59),
    separator=st.sampled_from(["\n\n", "\n", " "]),
)
@settings(max_examples=40, deadline=None)
def test_edit_of_one_part_leaves_the_chunks_far_away(
    lengths: list[int], place: int, separator: str
) -> None:
    """R06: paragraphs, lines or sentences of any length: boundaries do not shift onward."""
    parts = [
        " ".join(f"word{number * 7919 % 997}" for _ in range(length)) + f" part {number}."
        for number, length in enumerate(lengths)
    ]
    edited = [*parts[:place], "Something else, of another length.", *parts[place + 1 :]]

    before = split(separator.join(parts), max_tokens=100)
    after = split(separator.join(edited), max_tokens=100)

    new = len(set(after) - set(before))
    assert new <= len(after) / 3


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("hello", 2), ("word " * 100, 125), ("7" * 100, 25), ("漢字" * 50, 75)],
    ids=["short", "words", "digits", "cjk"],
)
def test_tokens_are_counted_at_least_as_the_provider_does(text: str, tokens: int) -> None:
    """R09: a quarter of the bytes, or more where the vocabulary needs more."""
    assert count_tokens(text, most=400) >= tokens


def test_count_never_exceeds_the_limit_of_the_chunk() -> None:
    """R09: a chunk was split by that limit, so it cannot be above it."""
    [chunk, *_] = split("\x00\x01\x02\x03" * 3000, max_tokens=100)

    assert count_tokens(chunk, most=100) <= 100
