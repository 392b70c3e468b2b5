"""The provider's HTTP paths: OpenAI's, Azure's and Bedrock's, and the control paths."""

import asyncio
import hmac
import itertools
import json
import math
import os
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from functions.core.batches import batches
from local.http_server import LOOPBACK, LoopbackServer
from local.provider.answers import proxy_page, refuse
from local.provider.counts import Counts
from local.provider.dialects import BEDROCK, OPENAI, Dialect
from local.provider.errors import ApiError, invalid_input, invalid_key, unknown_path
from local.provider.faults import Fault, FaultError, FaultKind, FaultPlan, Met, parse_faults
from local.provider.models import choose_vectors
from local.provider.rate_limit import RateLimit
from local.provider.request import EmbeddingsRequest
from local.provider.vectors import Vectors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LARGEST_BODY_BYTES = 64 * 1024 * 1024
# The status that web servers log for a client that left before its answer.
CLIENT_GONE = 499
# After so many it is looked whether the client still waits.
INPUTS_AT_ONCE = 32
_CHECK_SECONDS = 0.05


class ModelServer(LoopbackServer):
    """An embeddings server on the loopback address that speaks OpenAI's and Bedrock's formats."""

    def __init__(
        self,
        vectors: str | Vectors = "hashed",
        *,
        weights: Path | None = None,
        port: int = 0,
        key: str | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> None:
        """Load the model and bind the port (0: a free one); `start` begins to answer.

        `weights` is the folder of the MiniLM weights; without it the installed package is used.
        """
        self._vectors = choose_vectors(vectors, weights)
        self._key = key
        self._rate_limit = RateLimit(
            requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute
        )
        self._plan = FaultPlan()
        self._counts = Counts()
        self._closing = threading.Event()
        self._numbers = itertools.count(1)
        # More requests at once than cores would only compete for the same caches.
        self._turns = asyncio.Semaphore(os.cpu_count() or 1)
        posts: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/v1/embeddings": partial(self._embed, OPENAI),
            "/openai/v1/embeddings": partial(self._embed, OPENAI),
            "/openai/deployments/{deployment}/embeddings": self._embed_by_deployment,
            "/model/{model_id}/invoke": partial(self._embed, BEDROCK),
        }
        routes = [Route(path, answer, methods=["POST"]) for path, answer in posts.items()]
        changes = ["GET", "POST", "PUT", "DELETE"]
        routes.append(Route("/faults", self._change_faults, methods=changes))
        routes.append(Route("/counts", self._change_counts, methods=["GET", "DELETE"]))
        app = Starlette(
            routes=routes, exception_handlers={ApiError: _refused, HTTPException: _no_route}
        )
        super().__init__(app, port=port, name="model-server")

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
        self._plan.replace(*faults)

    def counts(self) -> dict[str, Any]:
        """Return what was asked and paid since the start or the last reset."""
        return self._counts.as_json()

    def reset_counts(self) -> None:
        """Count from zero again."""
        self._counts.reset()

    def close(self) -> None:
        """End every request that hangs or waits, then stop."""
        self._closing.set()
        super().close()

    async def _change_faults(self, request: Request) -> Response:
        if request.method == "PUT":
            self._plan.replace(*_parse_plan(await _body(request)))
        elif request.method == "POST":
            self._plan.add(*_parse_plan(await _body(request)))
        elif request.method == "DELETE":
            self._plan.replace()
        return JSONResponse(self._plan.as_json())

    async def _change_counts(self, request: Request) -> Response:
        if request.method == "DELETE":
            self.reset_counts()
        return JSONResponse(self.counts())

    async def _embed_by_deployment(self, request: Request) -> Response:
        if not request.query_params.get("api-version"):
            raise ApiError(404, "Resource not found", code="404")
        return await self._embed(OPENAI, request)

    async def _embed(self, dialect: Dialect, request: Request) -> Response:
        body = await _body(request)
        asked = None
        try:
            if dialect.has_key:
                self._check_key(request)
            asked = dialect.parse(request, body, self._vectors)
            met = self._plan.meet(asked)
            await self._wait(request, met.delay_seconds)
            if met.fault is not None and met.fault.kind in (FaultKind.HANG, FaultKind.RESET):
                return await self._drop(request, asked, met, met.fault)
            response = await self._answer(request, dialect, asked, met.fault)
        except ApiError as error:
            response = dialect.refusal(error)
        self._counts.ended(str(response.status_code), asked)
        response.headers["x-request-id"] = f"req_{next(self._numbers)}"
        return response

    def _check_key(self, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        given = request.headers.get("api-key") or bearer
        if self._key is not None and not hmac.compare_digest(given.encode(), self._key.encode()):
            raise invalid_key()

    async def _answer(
        self, request: Request, dialect: Dialect, asked: EmbeddingsRequest, fault: Fault | None
    ) -> Response:
        if fault is not None:
            refuse(fault, asked)
        headers = self._rate_limit.admit(asked.model, asked.tokens)
        async with self._turns:
            if await request.is_disconnected():
                return Response(status_code=CLIENT_GONE)
            is_gone = threading.Event()
            work = asyncio.to_thread(self._compute, dialect, asked, fault, headers, is_gone)
            watch = asyncio.create_task(_watch(request, is_gone))
            try:
                return await work
            finally:
                watch.cancel()

    def _compute(
        self,
        dialect: Dialect,
        asked: EmbeddingsRequest,
        fault: Fault | None,
        headers: dict[str, str],
        is_gone: threading.Event,
    ) -> Response:
        if fault is not None and fault.kind is FaultKind.HTML:
            return proxy_page(fault, headers)
        parts = []
        for inputs in batches(asked.inputs, INPUTS_AT_ONCE):
            if is_gone.is_set():
                return Response(status_code=CLIENT_GONE)
            parts.append(dialect.vectors(inputs, asked.dimensions, self._vectors))
        vectors = np.concatenate(parts)
        kind = None if fault is None else fault.kind
        # An answer in another order is complete; any other changed one is of no use, so that
        # asking again for it is no waste.
        if kind in (None, FaultKind.WRONG_ORDER):
            self._counts.paid(asked)
        return dialect.answer(asked, vectors, headers, kind)

    async def _drop(
        self, request: Request, asked: EmbeddingsRequest, met: Met, fault: Fault
    ) -> Response:
        self._counts.ended(str(fault.kind), asked)
        if fault.kind is FaultKind.HANG:
            await self._wait(request, fault.seconds, until=met.removed)
        return self.without_answer(is_reset=fault.kind is FaultKind.RESET)

    async def _wait(
        self, request: Request, seconds: float | None, until: threading.Event | None = None
    ) -> None:
        """Wait so long, or until the event, the client's end or the server's."""
        end = math.inf if seconds is None else time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self._closing.is_set():
            if (until is not None and until.is_set()) or await request.is_disconnected():
                return
            await asyncio.sleep(min(left, _CHECK_SECONDS))


async def _watch(request: Request, is_gone: threading.Event) -> None:
    """Set the event when the client has gone."""
    while not await request.is_disconnected():
        await asyncio.sleep(_CHECK_SECONDS)
    is_gone.set()


async def _body(request: Request) -> bytes:
    length = request.headers.get("content-length", "0")
    close = {"connection": "close"}
    if "transfer-encoding" in request.headers or not length.isdecimal():
        message = "Send the body in one piece, with a content-length header."
        raise ApiError(411, message, headers=close)
    if int(length) > LARGEST_BODY_BYTES:
        message = f"The body has {length} bytes, at most {LARGEST_BODY_BYTES}."
        raise ApiError(413, message, headers=close)
    return await request.body()


def _parse_plan(body: bytes) -> tuple[Fault, ...]:
    try:
        return parse_faults(json.loads(body))
    except FaultError as error:
        raise invalid_input(str(error), param=None) from error
    except ValueError as error:
        message = f"The fault plan is not JSON: {error}. See --help for an example."
        raise invalid_input(message, param=None) from error


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error.response()


async def _no_route(request: Request, _: Exception) -> Response:
    return unknown_path(request.method, request.url.path).response()
