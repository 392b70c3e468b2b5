"""The model server as an object: in a test or a runner, a `with` block is its whole life."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from local.loopback_server import LOOPBACK, InBackground
from local.model.embeddings_api import EmbeddingsApi
from local.model.embeddings_request import RequestLimits
from local.model.hashed import HashedVectors
from local.model.http_server import ModelHttpServer
from local.model.minilm import MiniLmVectors
from local.model.rate_limit import RateLimit

if TYPE_CHECKING:
    from pathlib import Path

    from local.model.faults import Fault
    from local.model.vectors import Vectors


class ModelServer(InBackground):
    """An OpenAI-compatible embeddings server on the loopback address."""

    def __init__(
        self,
        vectors: str | Vectors = "hashed",
        *,
        weights: Path | None = None,
        port: int = 0,
        key: str | None = None,
        limits: RequestLimits | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> None:
        """Load the model and bind the port (0: a free one); `start` begins to answer.

        `weights` is the folder of the MiniLM weights; without it the installed package is used.
        """
        rate_limit = RateLimit(
            requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute
        )
        self._api = EmbeddingsApi(
            vectors=_vectors(vectors, weights),
            key=key,
            limits=limits or RequestLimits(),
            rate_limit=rate_limit,
        )
        super().__init__(ModelHttpServer(self._api, port), "model-server")

    @property
    def origin(self) -> str:
        """Return the address without a path: Azure's endpoint, the base of /faults and /counts."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def url(self) -> str:
        """Return the base URL that the OpenAI SDK takes."""
        return f"{self.origin}/v1"

    def faults(self, *faults: Fault) -> None:
        """Put these faults in force instead of all others; without any, heal."""
        self._api.plan.replace(*faults)

    def counts(self) -> dict[str, Any]:
        """Return what was asked and sold since the start or the last reset."""
        return self._api.counts.as_json()

    def reset_counts(self) -> None:
        """Count from zero again."""
        self._api.counts.reset()

    def close(self) -> None:
        """Let every answer that hangs or waits end, then stop."""
        self._api.closing.set()
        super().close()


def _vectors(given: str | Vectors, weights: Path | None) -> Vectors:
    match given:
        case "hashed":
            return HashedVectors()
        case "minilm":
            return MiniLmVectors(weights)
        case str():
            raise ValueError(f"vectors: {given!r} is not one of hashed, minilm")
        case _:
            return given
