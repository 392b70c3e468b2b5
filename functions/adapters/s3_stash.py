"""The stash: paid vectors of unfinished attempts, one object per row, gone after two days."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from functions.adapters.store_errors import store_failures
from functions.core.entry import Vector
from functions.core.identity import RowKey, digest
from functions.core.names import STASH_PREFIX

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3Stash:
    """Keeps vectors as one line of chunk hashes and the float32 numbers behind it."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def read(self, key: RowKey) -> Mapping[str, Vector]:
        with store_failures("reading the stash"):
            try:
                answer = self._client.get_object(Bucket=self._bucket, Key=_name(key))
            except self._client.exceptions.NoSuchKey:
                return {}
            return _unpack(answer["Body"].read())

    def write(self, key: RowKey, vectors: Mapping[str, Vector]) -> None:
        """Keep paid vectors of a row for its next attempt, beside those kept before."""
        sizes = {vector.size for vector in vectors.values()}
        # Those of other dimensions are of a former model.
        before = {name: old for name, old in self.read(key).items() if old.size in sizes}
        body = _pack({**before, **vectors})
        with store_failures("writing the stash"):
            self._client.put_object(Bucket=self._bucket, Key=_name(key), Body=body)


def _name(key: RowKey) -> str:
    return f"{STASH_PREFIX}{digest(key)}"


def _pack(vectors: Mapping[str, Vector]) -> bytes:
    numbers = np.stack(list(vectors.values())).astype("<f4")
    return json.dumps(list(vectors)).encode() + b"\n" + numbers.tobytes()


def _unpack(body: bytes) -> dict[str, Vector]:
    head, _, numbers = body.partition(b"\n")
    try:
        hashes = json.loads(head)
        vectors = np.frombuffer(numbers, dtype="<f4").reshape(len(hashes), -1)
        return dict(zip(hashes, vectors, strict=True))
    except ValueError:
        # Not written by this version: what it holds is paid again.
        return {}
