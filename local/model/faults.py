"""One planned fault of the model server: a frozen value, checked when it is made."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

_Choice = TypeVar("_Choice", bound=StrEnum)


class FaultKind(StrEnum):
    """What goes wrong."""

    LATENCY = "latency"  # answers after `seconds`; joins with the other kinds
    RATE_LIMITED = "rate_limited"  # 429; `retry_after` and `seconds` say when to come again
    INSUFFICIENT_QUOTA = "insufficient_quota"  # 429 that no waiting helps
    UNAUTHORIZED = "unauthorized"  # 401
    UNKNOWN_MODEL = "unknown_model"  # 404
    SERVER_ERROR = "server_error"  # 5xx: `status`, 500 unless told
    HANG = "hang"  # no answer for `seconds`, or until removed; then the connection ends
    RESET = "reset"  # connection reset before an answer
    MALFORMED_JSON = "malformed_json"  # 200 with half of the answer
    HTML = "html"  # a proxy's page: `status`, 200 unless told
    FEWER_VECTORS = "fewer_vectors"  # the last vector is missing
    WRONG_ORDER = "wrong_order"  # vectors in another order, each with its true index
    WRONG_INDEX = "wrong_index"  # every vector says that it is of input 0
    NAN = "nan"  # the first vector holds a NaN
    WRONG_DIMENSIONS = "wrong_dimensions"  # one dimension more than asked for
    POISON = "poison"  # 400 when an input contains `marker`
    TOO_LARGE = "too_large"  # `status` 413 or 429 when a request has more than `tokens`


class RetryAfter(StrEnum):
    """How a 429 tells when to come again."""

    SECONDS = "seconds"
    DATE = "date"
    MILLISECONDS = "ms"
    NONE = "none"


class FaultError(ValueError):
    """A fault that cannot be planned; the message says which field is wrong and what is allowed."""


_FIELDS_OF_KIND: dict[FaultKind, tuple[str, ...]] = {
    FaultKind.LATENCY: ("seconds",),
    FaultKind.RATE_LIMITED: ("seconds", "retry_after"),
    FaultKind.SERVER_ERROR: ("status",),
    FaultKind.HANG: ("seconds",),
    FaultKind.HTML: ("status",),
    FaultKind.POISON: ("marker",),
    FaultKind.TOO_LARGE: ("status", "tokens"),
}
_REQUIRED = {FaultKind.LATENCY: "seconds", FaultKind.POISON: "marker"}
_STATUSES: dict[FaultKind, tuple[int, ...]] = {
    FaultKind.SERVER_ERROR: tuple(range(500, 600)),
    FaultKind.HTML: tuple(range(200, 600)),
    FaultKind.TOO_LARGE: (413, 429),
}
_USUAL_STATUS = {FaultKind.SERVER_ERROR: 500, FaultKind.HTML: 200, FaultKind.TOO_LARGE: 413}
_USUAL_FIELDS = ("kind", "requests", "share", "seed", "model")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault for the next `requests`, for a `share` of them, or for all until it is removed."""

    kind: FaultKind
    requests: int | None = None  # how many it hits; None: until removed
    share: float = 1.0  # part of the requests that it hits, by a random with `seed`
    seed: int = 0
    model: str | None = None  # only requests for this model; None: all
    seconds: float | None = None
    retry_after: RetryAfter = RetryAfter.SECONDS
    status: int | None = None
    marker: str | None = None
    tokens: int = 0

    def __post_init__(self) -> None:
        """Refuse a fault that could never do what it says."""
        _check_reach(self)
        _check_details(self)

    @property
    def status_or_usual(self) -> int:
        """Return the HTTP status of this fault, where its kind has a choice."""
        return _USUAL_STATUS[self.kind] if self.status is None else self.status

    def as_json(self) -> dict[str, Any]:
        """Return the fields that were set, as `parse_fault` takes them."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }


def parse_fault(given: object) -> Fault:
    """Return the fault that a JSON object describes, or say what to fix in a FaultError."""
    if not isinstance(given, dict):
        raise FaultError(f"a fault is a JSON object with at least a kind, not {given!r}")
    kind = _choice(FaultKind, "kind", given.get("kind"))
    allowed = _USUAL_FIELDS + _FIELDS_OF_KIND.get(kind, ())
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


def _check_reach(fault: Fault) -> None:
    if fault.requests is not None and not _is_integer(fault.requests, at_least=1):
        raise _wrong(fault, "requests", "an integer of at least 1, or absent: until removed")
    if not _is_number(fault.share) or not 0 < fault.share <= 1:
        raise _wrong(fault, "share", "a number above 0 and up to 1")
    if not _is_integer(fault.seed, at_least=None):
        raise _wrong(fault, "seed", "an integer")
    if not _is_text_or_none(fault.model):
        raise _wrong(fault, "model", "a model's name, or absent: all models")


def _check_details(fault: Fault) -> None:
    needed = _REQUIRED.get(fault.kind)
    if needed is not None and getattr(fault, needed) is None:
        raise FaultError(f"fault {fault.kind}: {needed} is required")
    if fault.seconds is not None and not (_is_number(fault.seconds) and fault.seconds >= 0):
        raise _wrong(fault, "seconds", "a number of at least 0")
    if not _is_text_or_none(fault.marker):
        raise _wrong(fault, "marker", "a text that is not empty")
    if not _is_integer(fault.tokens, at_least=0):
        raise _wrong(fault, "tokens", "an integer of at least 0")
    statuses = _STATUSES.get(fault.kind, ())
    if fault.status is not None and fault.status not in statuses:
        raise _wrong(fault, "status", _range_in_words(statuses))


def _wrong(fault: Fault, name: str, allowed: str) -> FaultError:
    return FaultError(f"fault {fault.kind}: {name} is {getattr(fault, name)!r}, must be {allowed}")


def _range_in_words(statuses: tuple[int, ...]) -> str:
    if not statuses:
        return "absent: this kind has no choice of status"
    if len(statuses) == statuses[-1] - statuses[0] + 1:
        return f"from {statuses[0]} to {statuses[-1]}"
    return " or ".join(map(str, statuses))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: object, *, at_least: int | None) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return at_least is None or value >= at_least


def _is_text_or_none(value: object) -> bool:
    return value is None or (isinstance(value, str) and value != "")
