"""Errors of DynamoDB, S3 and SQS -> failures."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from functions.core.failure import Failure, FailureError, FailureKind


@contextmanager
def store_failures(what: str) -> Iterator[None]:
    """Turn an AWS error into the failure that charges no document."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        detail = (
            error.response.get("Error", {}).get("Code", "")
            if isinstance(error, ClientError)
            else type(error).__name__
        )
        raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, f"{what}: {detail}")) from error
