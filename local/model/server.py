"""The model server as an object: in a test or a runner, a `with` block is its whole life."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

from local.model.embeddings_api import EmbeddingsApi
from local.model.embeddings_request import RequestLimits
from local.model.hashed import HashedVectors
from local.model.http_server import HOST, ModelHttpServer
from local.model.minilm import MiniLmVectors
from local.model.rate_limit import RateLimit

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from local.model.faults import Fault
    from local.model.vectors import Vectors

_POLL_SECONDS = 0.02


class ModelServer:
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
        self._http = ModelHttpServer(self._api, port)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(_POLL_SECONDS,), name="model-server", daemon=True
        )

    @property
    def port(self) -> int:
        """Return the port that was bound."""
        return int(self._http.server_address[1])

    @property
    def origin(self) -> str:
        """Return the address without a path: Azure's endpoint, the base of /faults and /counts."""
        return f"http://{HOST}:{self.port}"

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

    def start(self) -> None:
        """Answer requests from now on, in threads."""
        self._thread.start()

    def close(self) -> None:
        """Stop answering and leave no thread and no connection behind."""
        self._api.closing.set()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


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
