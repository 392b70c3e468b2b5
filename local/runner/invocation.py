"""What one invocation of a function came to, in the words that Lambda uses."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html: 6 MB each way.
PAYLOAD_LIMIT_BYTES = 6 * 1024 * 1024
THROTTLED = "TooManyRequestsException"
EXITED = "Runtime.ExitError"


@dataclass(frozen=True)
class Invocation:
    """One call of a function: its answer as JSON text, or the error that ended it."""

    request_id: str
    payload: bytes = b"null"
    error: Mapping[str, Any] | None = None

    @property
    def result(self) -> Any:
        """Return what the function returned; raise ValueError where that is no JSON."""
        return json.loads(self.payload or b"null")

    @property
    def is_throttled(self) -> bool:
        """Return whether the function's reserved concurrency refused the call."""
        return self.error is not None and self.error["errorType"] == THROTTLED

    @property
    def has_exited(self) -> bool:
        """Return whether the function's process ended in the middle."""
        return self.error is not None and self.error["errorType"] == EXITED


def failed(request_id: str, kind: str, message: str) -> Invocation:
    """Return an invocation that ended without the function's own answer."""
    error = {"errorType": kind, "errorMessage": message}
    return Invocation(request_id, json.dumps(error).encode(), error)


def throttled(request_id: str) -> Invocation:
    """Return the refusal of a call above the reserved concurrency."""
    return failed(request_id, THROTTLED, "Rate Exceeded.")


def timed_out(request_id: str, timeout_seconds: float) -> Invocation:
    """Return the end of a run that was killed at its timeout."""
    message = f"RequestId: {request_id} Error: Task timed out after {timeout_seconds:.2f} seconds"
    return failed(request_id, "Sandbox.Timedout", message)


def exited(request_id: str, code: int) -> Invocation:
    """Return the end of a run whose process ended; a negative code is a signal's number."""
    how = f"signal: {_signal_name(-code)}" if code < 0 else f"exit status {code}"
    message = f"RequestId: {request_id} Error: Runtime exited with error: {how}"
    return failed(request_id, EXITED, message)


def too_large(request_id: str, size: int) -> Invocation:
    """Return the refusal of an answer that Lambda does not carry."""
    message = (
        f"Response payload size ({size} bytes) exceeded maximum allowed payload size"
        f" ({PAYLOAD_LIMIT_BYTES} bytes)."
    )
    return failed(request_id, "Function.ResponseSizeTooLarge", message)


def error_answer(request_id: str, payload: bytes) -> Invocation:
    """Return the error that the runtime client reported for the function."""
    try:
        error = json.loads(payload)
    except ValueError:
        error = None
    if not isinstance(error, dict):
        error = {"errorMessage": payload.decode(errors="replace")}
    return Invocation(request_id, payload, {"errorType": "Unhandled", **error})


def _signal_name(number: int) -> str:
    return {9: "killed", 15: "terminated", 11: "segmentation fault"}.get(number, str(number))


def failed_items(
    invocation: Invocation, items: Sequence[str], *, reports_failures: bool
) -> frozenset[str]:
    """Return the ids of a batch that failed: none, some, or all where the answer is not valid.

    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """
    everything = frozenset(items)
    if invocation.error is not None:
        return everything
    if not reports_failures:
        return frozenset()
    try:
        reported = _reported(invocation.result)
    except ValueError:
        return everything
    return reported if reported <= everything else everything


def _reported(answer: Any) -> frozenset[str]:
    """Return the reported ids; raise ValueError where the answer has another shape."""
    if answer is None:
        return frozenset()
    if not isinstance(answer, dict):
        raise ValueError("the answer is no object")
    # null, an empty list and no list at all are success.
    failures = answer.get("batchItemFailures")
    if failures is None:
        return frozenset()
    if not isinstance(failures, list):
        raise ValueError("batchItemFailures is no list")
    return frozenset(_identifier(failure) for failure in failures)


def _identifier(failure: Any) -> str:
    identifier = failure.get("itemIdentifier") if isinstance(failure, dict) else None
    if not isinstance(identifier, str):
        raise ValueError("itemIdentifier is missing")
    return identifier
