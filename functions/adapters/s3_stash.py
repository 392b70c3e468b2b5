"""The stash: paid vectors of unfinished attempts, one object per row, gone after two days."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from botocore.exceptions import BotoCoreError, ClientError

from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey, digest

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from functions.core.entry import Vector

PREFIX = "stash/"


class S3Stash:
    """Keeps vectors as one line of chunk hashes and the float32 numbers behind it."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def read(self, key: RowKey) -> Mapping[str, "Vector"]:
        """Return the vectors that wait for a row, by chunk hash."""
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=_name(key))
            head, _, numbers = answer["Body"].read().partition(b"\n")
        except ClientError as error:
            if error.response["Error"]["Code"] == "NoSuchKey":
                return {}
            raise _failure(error) from error
        except BotoCoreError as error:
            raise _failure(error) from error
        hashes = json.loads(head)
        vectors = np.frombuffer(numbers, dtype="<f4").reshape(len(hashes), -1)
        return dict(zip(hashes, vectors, strict=True))

    def write(self, key: RowKey, vectors: Mapping[str, "Vector"]) -> None:
        """Keep paid vectors of a row for its next attempt, beside those kept before."""
        kept = {**self.read(key), **vectors}
        body = json.dumps(list(kept)).encode() + b"\n" + np.stack(list(kept.values())).tobytes()
        try:
            self._client.put_object(Bucket=self._bucket, Key=_name(key), Body=body)
        except (ClientError, BotoCoreError) as error:
            raise _failure(error) from error


def _name(key: RowKey) -> str:
    return f"{PREFIX}{digest(key)}"


def _failure(error: Exception) -> FailureError:
    return FailureError(
        Failure(FailureKind.STORE_UNAVAILABLE, f"the stash: {type(error).__name__}")
    )
