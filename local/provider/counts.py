"""Counts of requests and of paid vectors: tests read here whether a vector was paid twice."""

import hashlib
import threading
from collections import Counter
from typing import Any

from local.provider.request import EmbeddingsRequest


class Counts:
    """Counters of embedding requests since the start or the last reset."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Start again at zero."""
        with self._lock:
            self._inputs = self._tokens = 0
            self._paid_inputs = self._paid_tokens = 0
            self._outcomes: Counter[str] = Counter()
            self._paid: Counter[str] = Counter()

    def ended(self, outcome: str, request: EmbeddingsRequest | None = None) -> None:
        """Count a request by its status, or by the fault that left it without an answer."""
        with self._lock:
            self._outcomes[outcome] += 1
            if request is not None:
                self._inputs += len(request.inputs)
                self._tokens += request.tokens

    def paid(self, request: EmbeddingsRequest) -> None:
        """Count a request whose answer is complete: the client has paid for its vectors."""
        keys = [vector_key(request.model, request.dimensions, text) for text in request.inputs]
        with self._lock:
            self._paid_inputs += len(request.inputs)
            self._paid_tokens += request.tokens
            self._paid.update(keys)

    def as_json(self) -> dict[str, Any]:
        """Return everything counted, in the shape of GET /counts."""
        with self._lock:
            again = {key: times for key, times in self._paid.items() if times > 1}
            return {
                "requests": self._outcomes.total(),
                "inputs": self._inputs,
                "tokens": self._tokens,
                "statuses": dict(sorted(self._outcomes.items())),
                "paid": {
                    "inputs": self._paid_inputs,
                    "tokens": self._paid_tokens,
                    "distinct_inputs": len(self._paid),
                    "more_than_once": again,
                },
            }


def vector_key(model: str, dimensions: int, text: str) -> str:
    """Return the name under which a vector is counted."""
    # The same text for another model or size is another vector.
    key = f"{model}\n{dimensions}\n{text}"
    return hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
