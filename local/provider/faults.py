"""Planned faults of the provider: what each may say, and which request meets which."""

import dataclasses
import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from local.provider.request import EmbeddingsRequest

_Choice = TypeVar("_Choice", bound=StrEnum)


class FaultKind(StrEnum):
    """What goes wrong."""

    LATENCY = "latency"  # answers after `seconds`; joins with the other kinds
    RATE_LIMITED = "rate_limited"  # 429; `retry_after` and `seconds` say when to come again
    INSUFFICIENT_QUOTA = "insufficient_quota"  # 429 that waiting does not help
    UNAUTHORIZED = "unauthorized"  # 401
    UNKNOWN_MODEL = "unknown_model"  # 404
    SERVER_ERROR = "server_error"  # 5xx: `status`, 500 by default
    HANG = "hang"  # no answer for `seconds`, or until removed; then the connection ends
    RESET = "reset"  # connection reset before an answer
    MALFORMED_JSON = "malformed_json"  # 200 with half of the answer
    HTML = "html"  # a proxy's page: `status`, 200 by default
    FEWER_VECTORS = "fewer_vectors"  # the last vector is missing
    WRONG_ORDER = "wrong_order"  # vectors in another order, each with its true index
    WRONG_INDEX = "wrong_index"  # every vector says that it is of input 0
    NAN = "nan"  # the first vector holds a NaN
    WRONG_DIMENSIONS = "wrong_dimensions"  # one dimension more than asked for
    POISON = "poison"  # 400 when an input contains `marker`
    TOO_LARGE = "too_large"  # `status` 413 or 429 when a request has more than `tokens`


class RetryAfter(StrEnum):
    """How a 429 says when to come again."""

    SECONDS = "seconds"
    DATE = "date"
    MILLISECONDS = "ms"
    NONE = "none"


class FaultError(ValueError):
    """A fault that cannot be planned; the message says which field is wrong and what is allowed."""


@dataclass(frozen=True)
class _Traits:
    fields: tuple[str, ...] = ()  # beside those that every kind has
    required: str | None = None
    statuses: Sequence[int] = ()  # the first is the default
    statuses_in_words: str = "absent: this kind has no choice of status"


_FIELDS = ("kind", "requests", "share", "seed", "model", "for_seconds")
_TRAITS = {
    FaultKind.LATENCY: _Traits(("seconds",), required="seconds"),
    FaultKind.RATE_LIMITED: _Traits(("seconds", "retry_after")),
    FaultKind.SERVER_ERROR: _Traits(("status",), None, range(500, 600), "from 500 to 599"),
    FaultKind.HANG: _Traits(("seconds",)),
    FaultKind.HTML: _Traits(("status",), None, range(200, 600), "from 200 to 599"),
    FaultKind.POISON: _Traits(("marker",), required="marker"),
    FaultKind.TOO_LARGE: _Traits(("status", "tokens"), None, (413, 429), "413 or 429"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault for the next `requests`, a `share` of them, a time, or all until it is removed."""

    kind: FaultKind
    requests: int | None = None  # how many it hits; None: until removed
    share: float = 1.0  # part of the requests that it hits, by a random with `seed`
    seed: int = 0
    model: str | None = None  # only requests for this model; None: all
    for_seconds: float | None = None  # how long it is in force; None: until removed
    seconds: float | None = None
    retry_after: RetryAfter = RetryAfter.SECONDS
    status: int | None = None
    marker: str | None = None
    tokens: int = 0

    def __post_init__(self) -> None:
        """Refuse a fault that could never do what it says."""
        traits = self._traits
        if traits.required is not None and getattr(self, traits.required) is None:
            raise FaultError(f"fault {self.kind}: {traits.required} is required")
        for name, is_valid, allowed in _RULES:
            self._check(name, is_valid(getattr(self, name)), allowed)
        has_valid_status = self.status is None or self.status in traits.statuses
        self._check("status", has_valid_status, traits.statuses_in_words)

    def _check(self, name: str, is_valid: bool, allowed: str) -> None:
        if not is_valid:
            value = getattr(self, name)
            raise FaultError(f"fault {self.kind}: {name} is {value!r}, must be {allowed}")

    @property
    def _traits(self) -> _Traits:
        return _TRAITS.get(self.kind, _Traits())

    @property
    def answer_status(self) -> int:
        """Return the HTTP status of this fault, where its kind has a choice."""
        return self._traits.statuses[0] if self.status is None else self.status

    def concerns(self, request: EmbeddingsRequest) -> bool:
        """Return True if this fault is meant for such a request."""
        if self.model not in (None, request.model):
            return False
        if self.kind is FaultKind.TOO_LARGE:
            return request.tokens > self.tokens
        return self.marker is None or any(self.marker in text for text in request.inputs)

    def as_json(self) -> dict[str, Any]:
        """Return the fields that were set, as `parse_fault` takes them."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: object, at_least: float) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= at_least


def _is_text_or_none(value: object) -> bool:
    return value is None or (isinstance(value, str) and value != "")


_RULES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    (
        "requests",
        lambda value: value is None or _is_integer(value, 1),
        "an integer of at least 1, or absent: until removed",
    ),
    ("share", lambda value: _is_number(value) and 0 < value <= 1, "a number above 0 and up to 1"),
    ("seed", lambda value: _is_integer(value, float("-inf")), "an integer"),
    ("model", _is_text_or_none, "a model's name, or absent: all models"),
    (
        "for_seconds",
        lambda value: value is None or (_is_number(value) and value > 0),
        "a number above 0, or absent: until removed",
    ),
    (
        "seconds",
        lambda value: value is None or (_is_number(value) and value >= 0),
        "a number of at least 0",
    ),
    ("marker", _is_text_or_none, "a text that is not empty"),
    ("tokens", lambda value: _is_integer(value, 0), "an integer of at least 0"),
)


def parse_fault(given: object) -> Fault:
    """Return the fault that a JSON object describes, or say what to fix in a FaultError."""
    if not isinstance(given, dict):
        raise FaultError(f"a fault is a JSON object with at least a kind, not {given!r}")
    kind = _choice(FaultKind, "kind", given.get("kind"))
    allowed = _FIELDS + _TRAITS.get(kind, _Traits()).fields
    unknown = sorted(set(given) - set(allowed))
    if unknown:
        raise FaultError(
            f"fault {kind}: unknown field {', '.join(unknown)}; allowed: {', '.join(allowed)}"
        )
    fields: dict[str, Any] = {**given, "kind": kind}
    if "retry_after" in fields:
        fields["retry_after"] = _choice(RetryAfter, "retry_after", fields["retry_after"])
    return Fault(**fields)


def parse_faults(given: object) -> tuple[Fault, ...]:
    """Return the plan that one JSON object, or a list of them, describes."""
    return tuple(parse_fault(one) for one in (given if isinstance(given, list) else [given]))


def _choice(choices: type[_Choice], name: str, given: object) -> _Choice:
    try:
        return choices(str(given))
    except ValueError as error:
        allowed = ", ".join(choices)
        raise FaultError(f"{name}: {given!r} is not one of {allowed}") from error


@dataclass(slots=True)
class _Planned:
    fault: Fault
    chance: random.Random
    until: float  # of the plan's clock
    fired: int = 0
    removed: threading.Event = field(default_factory=threading.Event)

    def meets(self, request: EmbeddingsRequest) -> bool:
        if self.fault.requests is not None and self.fired >= self.fault.requests:
            return False
        return self.fault.concerns(request) and self.chance.random() < self.fault.share


@dataclass(frozen=True, slots=True)
class Met:
    """What one request meets: a delay, and at most one fault with the event of its removal."""

    delay_seconds: float = 0.0
    fault: Fault | None = None
    removed: threading.Event = field(default_factory=threading.Event)


class FaultPlan:
    """A list of faults; the first that a request meets decides, latency is added to it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._planned: list[_Planned] = []
        self._lock = threading.Lock()

    def replace(self, *faults: Fault) -> None:
        """Put these faults in force instead of all others; requests that hang are released."""
        planned = [self._plan(fault) for fault in faults]
        with self._lock:
            before, self._planned = self._planned, planned
        for old in before:
            old.removed.set()

    def add(self, *faults: Fault) -> None:
        """Put these faults in force before all others."""
        planned = [self._plan(fault) for fault in faults]
        with self._lock:
            self._planned = [*planned, *self._in_force()]

    def _plan(self, fault: Fault) -> _Planned:
        seconds = math.inf if fault.for_seconds is None else fault.for_seconds
        return _Planned(fault, random.Random(fault.seed), self._clock() + seconds)

    def _in_force(self) -> list[_Planned]:
        now = self._clock()
        return [planned for planned in self._planned if now < planned.until]

    def meet(self, request: EmbeddingsRequest) -> Met:
        """Return what this request meets, and count it."""
        delay = 0.0
        with self._lock:
            for planned in self._in_force():
                if not planned.meets(request):
                    continue
                planned.fired += 1
                if planned.fault.kind is not FaultKind.LATENCY:
                    return Met(delay, planned.fault, planned.removed)
                delay += planned.fault.seconds or 0.0
        return Met(delay)

    def as_json(self) -> list[dict[str, Any]]:
        """Return the faults in force, each with how often it was met and how long it stays."""
        with self._lock:
            return [
                {**planned.fault.as_json(), "fired": planned.fired} | self._left(planned)
                for planned in self._in_force()
            ]

    def _left(self, planned: _Planned) -> dict[str, float]:
        is_timed = planned.fault.for_seconds is not None
        return {"left_seconds": planned.until - self._clock()} if is_timed else {}
