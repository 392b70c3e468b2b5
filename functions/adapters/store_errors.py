"""Errors of AWS -> failures; only OpenSearch and the provider have their own."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from functions.core.failure import Failure, FailureError, FailureKind

# Only a person can grant what is missing; DynamoDB and Lambda write the longer one.
DENIED = ("AccessDenied", "AccessDeniedException")


@contextmanager
def store_failures(what: str) -> Iterator[None]:
    """Turn an AWS error into a failure that spends no attempt."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        detail = (
            error.response.get("Error", {}).get("Code", "")
            if isinstance(error, ClientError)
            else type(error).__name__
        )
        raise FailureError(store_failure(what, detail)) from error


def store_failure(what: str, code: str) -> Failure:
    """Make a failure of an error's code."""
    kind = FailureKind.STORE_DENIED if code in DENIED else FailureKind.STORE_UNAVAILABLE
    return Failure(kind, f"{what}: {code}")
