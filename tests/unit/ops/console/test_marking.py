"""Words of a question, marked in a passage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from ops.console.marking import marked


@pytest.mark.parametrize(
    ("passage", "question", "shown"),
    [
        ("A crow, two Crows", "the crows", "A <mark>crow</mark>, two <mark>Crows</mark>"),
        ("then the bird", "the", "then the bird"),
        ("escrow", "crow", "escrow"),
        ("a <b>fox</b>", "fox", "a &lt;b&gt;<mark>fox</mark>&lt;/b&gt;"),
        ("a & b", "", "a &amp; b"),
        ("1 + 1", "(1", "1 + 1"),
    ],
)
def test_words_of_the_question_are_marked(passage: str, question: str, shown: str) -> None:
    """R49: whole words, and their plural; nothing of the text is HTML."""
    assert marked(passage, question) == Markup(shown)


@given(st.text(), st.text())
def test_no_text_becomes_html(passage: str, question: str) -> None:
    """R49: without the marks, it is the escaped passage."""
    shown = str(marked(passage, question))

    assert shown.replace("<mark>", "").replace("</mark>", "") == str(Markup.escape(passage))
