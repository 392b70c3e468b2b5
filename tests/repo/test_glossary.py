"""The glossary stays short and in use."""

import re

import pytest

from tests.repo.checkout import ROOT, texts

MOST_TERMS = 30
PAGE = "docs/glossary.md"
TERMS = re.findall(r"^\| ([A-Za-z0-9@ ]+) \| (?!meaning)", (ROOT / PAGE).read_text(), re.MULTILINE)


def test_glossary_is_short() -> None:
    """Words: a short list can be kept in mind."""
    assert 0 < len(TERMS) <= MOST_TERMS
    assert len(set(TERMS)) == len(TERMS)


def test_figures_of_the_gate_are_explained() -> None:
    """Words: a refusal names them."""
    assert {"gate", "coverage", "nDCG@10", "overlap@10"} <= set(TERMS)


@pytest.mark.parametrize("term", TERMS)
def test_every_term_is_used_in_a_document(term: str) -> None:
    """Words: the glossary holds only what a reader meets elsewhere."""
    words = re.compile(rf"\b{term.replace(' ', '[ _-]?')}s?\b", re.IGNORECASE)
    pages = "\n".join(text for path, text in texts("*.md").items() if path != PAGE)

    assert words.search(pages) is not None
