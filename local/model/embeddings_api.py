"""One embeddings request from its body to its reply: key, parse, faults, limits, vectors."""

from __future__ import annotations

import hmac
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from local.model import api_errors
from local.model.api_errors import ApiError, Reply
from local.model.broken_answers import refuse, spoil
from local.model.counts import Counts
from local.model.embeddings_answer import answer
from local.model.embeddings_request import EmbeddingsRequest, RequestLimits, parse_request
from local.model.fault_plan import FaultPlan
from local.model.faults import FaultKind
from local.model.rate_limit import RateLimit

if TYPE_CHECKING:
    from local.model.fault_plan import Met
    from local.model.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Dropped:
    """No reply: the connection is reset, or held for a while and then closed."""

    how: FaultKind
    seconds: float | None = None
    removed: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class EmbeddingsApi:
    """Everything about the server but HTTP."""

    vectors: Vectors
    key: str | None = None
    limits: RequestLimits = field(default_factory=RequestLimits)
    rate_limit: RateLimit = field(default_factory=RateLimit)
    plan: FaultPlan = field(default_factory=FaultPlan)
    counts: Counts = field(default_factory=Counts)
    closing: threading.Event = field(default_factory=threading.Event)

    def handle(self, body: bytes, *, key: str | None, deployment: str | None) -> Reply | Dropped:
        """Return the reply, or how the request is dropped, and count it."""
        request = None
        try:
            self._check_key(key)
            request = parse_request(
                body, deployment=deployment, vectors=self.vectors, limits=self.limits
            )
            outcome = self._work(request, self.plan.meet(request))
        except ApiError as error:
            outcome = error.reply()
        name = str(outcome.status) if isinstance(outcome, Reply) else str(outcome.how)
        self.counts.ended(name, request)
        return outcome

    def _check_key(self, given: str | None) -> None:
        if self.key is None:
            return
        if not hmac.compare_digest((given or "").encode(), self.key.encode()):
            raise api_errors.invalid_key()

    def _work(self, request: EmbeddingsRequest, met: Met) -> Reply | Dropped:
        if met.delay_seconds:
            self.closing.wait(met.delay_seconds)
        if met.fault is not None:
            if met.fault.kind in (FaultKind.HANG, FaultKind.RESET):
                return Dropped(met.fault.kind, met.fault.seconds, met.removed)
            refuse(met.fault, request)
        headers = self.rate_limit.admit(request.model, request.tokens)
        vectors = self.vectors.embed(request.inputs, request.dimensions)
        # An answer in another order is whole; any other spoilt one is of no use, so that
        # asking again for it is no waste.
        if met.fault is None or met.fault.kind is FaultKind.WRONG_ORDER:
            self.counts.sold(request)
        if met.fault is None:
            return answer(request, vectors, headers=headers)
        return spoil(met.fault, request, vectors, headers)
