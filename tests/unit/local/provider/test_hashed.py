"""Hashed vectors: fast, the same every time, and near where words are shared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local.provider.vectors import HashedVectors, normalised

VECTORS = HashedVectors()
# Lone surrogates are refused before any vector is made.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50)


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(TEXT, min_size=1, max_size=10), dimensions=st.integers(1, 300))
def test_any_text_gets_its_own_vector_of_length_one_wherever_it_stands(
    texts: list[str], dimensions: int
) -> None:
    """R82: a vector depends on its text alone."""
    together = VECTORS.embed(texts, dimensions)
    alone = np.concatenate([VECTORS.embed([text], dimensions) for text in texts])

    np.testing.assert_array_equal(together, alone)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    assert together.dtype == np.float32


def test_texts_that_share_words_are_near_and_others_are_far() -> None:
    """R48: searches over hashed vectors find texts with the same words, in any order and case."""
    base, shuffled, related, other = VECTORS.embed(
        [
            "The harbour master counted seven ships before noon",
            "Before noon, seven SHIPS the harbour master counted!",
            "A harbour master keeps a list of ships",
            "Knead flour with water and let it rest overnight",
        ],
        1536,
    )

    assert base @ shuffled > 0.9
    assert base @ related > 0.3
    assert abs(base @ other) < 0.15


def test_vectors_are_the_same_on_every_machine() -> None:
    """R82: Python's own hash changes from run to run; this one must not."""
    vector = VECTORS.embed(["the same words"], 4)[0]

    np.testing.assert_allclose(vector, [0.101274, 0.202548, 0.455733, -0.860828], atol=1e-6)


@pytest.mark.parametrize("text", ["a", "!", " ", "\n\t", "\0", "日本語", "🙂"])
def test_texts_without_words_are_no_zero_vectors(text: str) -> None:
    """R12: OpenSearch refuses a zero vector under cosine similarity."""
    assert np.linalg.norm(VECTORS.embed([text], 1)) == 1


def test_row_of_zeros_is_turned_along_the_first_axis() -> None:
    """R12: features may cancel each other out."""
    rows = normalised(np.array([[0, 0], [3, 4]], dtype=np.float32))

    np.testing.assert_allclose(rows, np.array([[1.0, 0.0], [0.6, 0.8]]), rtol=1e-6)


def test_many_and_long_texts_are_worked_in_slices() -> None:
    """R09: 2,048 inputs, and inputs longer than a slice."""
    texts = [f"text number {number}" for number in range(300)]
    texts.insert(7, "long " * 100_000)

    vectors = VECTORS.embed(texts, 32)

    np.testing.assert_array_equal(vectors[8], VECTORS.embed([texts[8]], 32)[0])
    np.testing.assert_array_equal(vectors[300], VECTORS.embed([texts[300]], 32)[0])
