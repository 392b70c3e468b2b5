"""Why an attempt failed. A kind is assigned once, where the SDK's error is caught."""

from dataclasses import dataclass
from enum import StrEnum


class Part(StrEnum):
    """A system that embed depends on; each has a breaker."""

    PROVIDER = "provider"
    INDEX = "index"


@dataclass(frozen=True)
class Traits:
    """What follows from a kind of failure alone; without any trait, an attempt is spent."""

    is_permanent: bool = False  # only a person can help: the document is given up
    is_free: bool = False  # the document is not the cause: no attempt is spent
    stops_lane: bool = False  # no other request of the lane would go better now
    breaker: Part | None = None  # the breaker that it counts against
    may_be_billed: bool = False  # the provider may have done the work all the same


ORDINARY = Traits()


class FailureKind(StrEnum):
    """The kinds; all that the code knows about one stands here."""

    # Throttling has its cooldown, and counts against no breaker.
    THROTTLED = "throttled", Traits(is_free=True, stops_lane=True)
    TIMEOUT = "timeout", Traits(breaker=Part.PROVIDER, may_be_billed=True)
    PROVIDER_ERROR = "provider_error", Traits(breaker=Part.PROVIDER, may_be_billed=True)
    # Opens the breaker of the part that it was found at, at once.
    CONFIGURATION = "configuration", Traits(is_free=True, stops_lane=True)
    INVALID_INPUT = "invalid_input", Traits(is_permanent=True)
    INDEX_UNAVAILABLE = "index_unavailable", Traits(breaker=Part.INDEX)
    INDEX_BUSY = "index_busy", Traits(is_free=True, breaker=Part.INDEX)
    INDEX_REJECTED = "index_rejected", Traits(is_permanent=True)
    # DynamoDB, S3, SQS or Lambda gave no answer, or a refusal that may pass.
    STORE_UNAVAILABLE = "store_unavailable", Traits(is_free=True)
    STORE_DENIED = "store_denied", Traits(is_free=True)  # the function lacks a right on AWS
    EVENT_REFUSED = "event_refused", Traits(is_free=True)  # EventBridge took no completion event
    NO_TIME = "no_time", Traits(is_free=True)  # the run ended before its turn
    RESOURCE = "resource"
    BUDGET = "budget", Traits(is_free=True, stops_lane=True)  # the target's is used up
    TENANT_BUDGET = "tenant_budget", Traits(is_free=True)  # what each tenant may spend is used up
    PAUSED = "paused", Traits(is_free=True, stops_lane=True)  # a breaker is open: nothing was asked
    UNKNOWN = "unknown"

    traits: Traits

    def __new__(cls, value: str, traits: Traits = ORDINARY) -> "FailureKind":
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.traits = traits
        return kind

    @property
    def is_permanent(self) -> bool:
        return self.traits.is_permanent

    @property
    def spends_attempt(self) -> bool:
        return not self.traits.is_free

    @property
    def is_retryable(self) -> bool:
        """Tell whether a policy decides how often it is tried again."""
        return self.spends_attempt and not self.is_permanent


@dataclass(frozen=True)
class Failure:
    """One failed attempt; the message never holds text, vectors or keys."""

    kind: FailureKind
    message: str
    retry_after_seconds: float | None = None
    is_asked: bool = True  # False: nothing was sent for it, others failed
    is_refused: bool = False  # the provider said so before it did any work

    @property
    def may_be_billed(self) -> bool:
        """Tell whether the provider may have done the work: its cost stays counted then."""
        return self.kind.traits.may_be_billed and not self.is_refused


class FailureError(Exception):
    """Carries a failure from the adapter that saw it to the step that decides on it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind}: {failure.message}")
        self.failure = failure


class MissingIndexError(FailureError):
    """There is no index behind the alias: it was lost, or was never made."""


class RefusedRequestError(FailureError):
    """The provider refused a request for its content: halving it finds the rejected input."""


class TooLargeRequestError(FailureError):
    """The provider refused a request for its size: smaller ones will pass."""
