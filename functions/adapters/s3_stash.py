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
        try:
            hashes = json.loads(head)
            vectors = np.frombuffer(numbers, dtype="<f4").reshape(len(hashes), -1)
            return dict(zip(hashes, vectors, strict=True))
        except ValueError:
            # Not written by this version: what it holds is paid again.
            return {}

    def write(self, key: RowKey, vectors: Mapping[str, "Vector"]) -> None:
        """Keep paid vectors of a row for its next attempt, beside those kept before."""
        sizes = {vector.size for vector in vectors.values()}
        # Those of other dimensions are of a former model.
        before = {name: old for name, old in self.read(key).items() if old.size in sizes}
        kept = {**before, **vectors}
        numbers = np.stack(list(kept.values())).astype("<f4")
        body = json.dumps(list(kept)).encode() + b"\n" + numbers.tobytes()
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
