"""Why an attempt ended. Kinds are assigned once, where the SDK's error is caught."""

from dataclasses import dataclass
from enum import StrEnum


class FailureKind(StrEnum):
    THROTTLED = "throttled"
    TIMEOUT = "timeout"
    PROVIDER_ERROR = "provider_error"
    CONFIGURATION = "configuration"
    INVALID_INPUT = "invalid_input"
    INDEX_UNAVAILABLE = "index_unavailable"
    INDEX_BUSY = "index_busy"
    INDEX_REJECTED = "index_rejected"
    STORE_UNAVAILABLE = "store_unavailable"
    RESOURCE = "resource"
    PAUSED = "paused"  # a breaker is open: nothing was asked
    UNKNOWN = "unknown"

    @property
    def is_permanent(self) -> bool:
        """Tell whether only a person can help."""
        return self in (FailureKind.INVALID_INPUT, FailureKind.INDEX_REJECTED)

    @property
    def spends_attempt(self) -> bool:
        """Tell whether the document is charged: not for what is none of its fault."""
        return self not in (
            FailureKind.THROTTLED,
            FailureKind.CONFIGURATION,
            FailureKind.INDEX_BUSY,
            FailureKind.STORE_UNAVAILABLE,
            FailureKind.PAUSED,
        )


@dataclass(frozen=True)
class Failure:
    """One failed attempt; the message never holds text, vectors or keys."""

    kind: FailureKind
    message: str
    retry_after_seconds: float | None = None


class FailureError(Exception):
    """Carries a failure from the adapter that saw it to the step that decides on it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind}: {failure.message}")
        self.failure = failure


class RefusedRequestError(FailureError):
    """The provider refused a request for what is in it: the guilty input is to be found."""


class TooLargeRequestError(FailureError):
    """The provider refused a request for its size: smaller ones will pass."""
