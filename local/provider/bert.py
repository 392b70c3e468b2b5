"""The forward pass of a small BERT in numpy: token ids in, one state per token out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float32]

_LAYER_NORM_EPSILON = np.float32(1e-12)
# Added to the score of a padding token: its share after softmax is exactly zero in float32.
_MASKED = np.float32(-1e9)


@dataclass(frozen=True, slots=True)
class Linear:
    """A dense layer; the weight lies so that rows of states multiply it from the left."""

    weight: Array
    bias: Array

    def __call__(self, states: Array) -> Array:
        """Return states times weight plus bias."""
        # One product of two matrices: with three axes numpy would make many small ones.
        result = states.reshape(-1, states.shape[-1]) @ self.weight
        result += self.bias
        return result.reshape(*states.shape[:-1], -1)


@dataclass(frozen=True, slots=True)
class LayerNorm:
    """A layer normalisation over the last axis."""

    weight: Array
    bias: Array

    def __call__(self, states: Array) -> Array:
        """Return states with mean 0 and variance 1 per token, scaled and moved."""
        states = states - states.mean(axis=-1, keepdims=True)
        variance = np.einsum("...i,...i->...", states, states)[..., None] / states.shape[-1]
        states /= np.sqrt(variance + _LAYER_NORM_EPSILON)
        states *= self.weight
        states += self.bias
        return states


@dataclass(frozen=True, slots=True)
class Layer:
    """One encoder layer: attention, then the feed-forward net, each with its norm."""

    query_key_value: Linear
    attention_output: Linear
    attention_norm: LayerNorm
    widen: Linear
    narrow: Linear
    output_norm: LayerNorm

    def __call__(self, states: Array, mask: Array, heads: int) -> Array:
        """Return the states after this layer."""
        attended = self.attention_output(self._attend(states, mask, heads))
        attended += states
        states = self.attention_norm(attended)
        result = self.narrow(_gelu(self.widen(states)))
        result += states
        return self.output_norm(result)

    def _attend(self, states: Array, mask: Array, heads: int) -> Array:
        texts, tokens, width = states.shape
        split = self.query_key_value(states).reshape(texts, tokens, 3, heads, width // heads)
        query, key, value = split.transpose(2, 0, 3, 1, 4)
        scores = query @ key.swapaxes(-1, -2)
        scores += mask
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        attended: Array = scores @ value
        return attended.transpose(0, 2, 1, 3).reshape(texts, tokens, width)


@dataclass(frozen=True, slots=True)
class Bert:
    """The embeddings and layers of a BERT encoder."""

    words: Array
    positions: Array
    norm: LayerNorm
    layers: tuple[Layer, ...]
    heads: int

    def __call__(self, ids: NDArray[np.int64], present: Array) -> Array:
        """Return the last state of each token; `present` is 1 for a token, 0 for padding."""
        mask = (1 - present)[:, None, None, :] * _MASKED
        states = self.norm(self.words[ids] + self.positions[: ids.shape[1]])
        for layer in self.layers:
            states = layer(states, mask, self.heads)
        return states


def bert_from(tensors: Mapping[str, Array], *, layers: int, heads: int) -> Bert:
    """Build the encoder from tensors named as in BERT checkpoints."""
    # Every token of a single text has type 0, so its vector is added to the positions once.
    token_type = tensors["embeddings.token_type_embeddings.weight"][0]
    return Bert(
        words=tensors["embeddings.word_embeddings.weight"],
        positions=tensors["embeddings.position_embeddings.weight"] + token_type,
        norm=_norm(tensors, "embeddings.LayerNorm"),
        layers=tuple(_layer(tensors, f"encoder.layer.{number}", heads) for number in range(layers)),
        heads=heads,
    )


def _layer(tensors: Mapping[str, Array], name: str, heads: int) -> Layer:
    query = _linear(tensors, f"{name}.attention.self.query")
    # The division of scores by the root of a head's width is done once, in the weights.
    scale = np.float32((query.weight.shape[1] / heads) ** -0.5)
    parts = [
        Linear(query.weight * scale, query.bias * scale),
        _linear(tensors, f"{name}.attention.self.key"),
        _linear(tensors, f"{name}.attention.self.value"),
    ]
    return Layer(
        query_key_value=Linear(
            np.concatenate([part.weight for part in parts], axis=1),
            np.concatenate([part.bias for part in parts]),
        ),
        attention_output=_linear(tensors, f"{name}.attention.output.dense"),
        attention_norm=_norm(tensors, f"{name}.attention.output.LayerNorm"),
        widen=_linear(tensors, f"{name}.intermediate.dense"),
        narrow=_linear(tensors, f"{name}.output.dense"),
        output_norm=_norm(tensors, f"{name}.output.LayerNorm"),
    )


def _linear(tensors: Mapping[str, Array], name: str) -> Linear:
    weight = np.ascontiguousarray(tensors[f"{name}.weight"].T)
    return Linear(weight, tensors[f"{name}.bias"])


def _norm(tensors: Mapping[str, Array], name: str) -> LayerNorm:
    return LayerNorm(tensors[f"{name}.weight"], tensors[f"{name}.bias"])


def _gelu(states: Array) -> Array:
    """Return GELU by its tanh form: numpy has no erf, and the two differ by less than 0.001."""
    inner = states * states
    inner *= np.float32(0.044715)
    inner += np.float32(1)
    inner *= states
    inner *= np.float32((2 / np.pi) ** 0.5)
    np.tanh(inner, out=inner)
    inner += np.float32(1)
    inner *= states
    inner *= np.float32(0.5)
    return inner
