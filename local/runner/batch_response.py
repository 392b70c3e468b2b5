"""What a function's answer says about its batch: the partial batch response and its odd cases.

https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
"""

from collections.abc import Sequence
from typing import Any

from local.runner.invocation import Invocation


def failed_items(
    invocation: Invocation, items: Sequence[str], *, reports_failures: bool
) -> frozenset[str]:
    """Return the ids of a batch that failed: none, some, or all where the answer is not valid."""
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
