"""The stash port: paid vectors wait for the next attempt, bit for bit."""

from collections.abc import Iterator

import numpy as np
import pytest

from functions.adapters.s3_stash import S3Stash
from functions.core.identity import RowKey
from functions.core.ports import Stash
from local.memory.ledger import MemoryStash
from tests.contract.engines import aws_client
from tests.contract.index_engines import vector

KEY = RowKey("default/articles/ä/\x00👩‍👩‍👧")
BUCKET = "stash-bucket"


@pytest.fixture(params=["memory", "moto"])
def stash(request: pytest.FixtureRequest) -> Iterator[Stash]:
    if request.param == "memory":
        yield MemoryStash()
    else:
        with aws_client(request, "s3", engine="moto", fixture="") as s3:
            s3.create_bucket(Bucket=BUCKET)
            yield S3Stash(s3, BUCKET)


def kept(stash: Stash, key: RowKey = KEY) -> dict[str, list[float]]:
    return {name: one.tolist() for name, one in stash.read(key).items()}


def test_nothing_waits_for_a_row_that_stashed_nothing(stash: Stash) -> None:
    """R13: absent is empty, not an error."""
    assert stash.read(KEY) == {}


def test_vectors_come_back_bit_for_bit(stash: Stash) -> None:
    """R13: what was paid is what is used."""
    vectors = np.random.default_rng(1).standard_normal((200, 64)).astype(np.float32)
    vectors[0, :4] = [1e-45, -0.0, 3.4e38, 1 / 3]

    stash.write(KEY, {f"hash {number}": one for number, one in enumerate(vectors)})

    found = stash.read(KEY)
    assert list(found) == [f"hash {number}" for number in range(200)]
    assert np.stack(list(found.values())).tobytes() == vectors.tobytes()


def test_second_attempt_adds_to_the_first(stash: Stash) -> None:
    """R13: a long document may need several attempts; each chunk is paid once."""
    stash.write(KEY, {"a": vector(1, 2), "b": vector(3, 4)})
    stash.write(KEY, {"b": vector(5, 6), "c": vector(7, 8)})

    assert kept(stash) == {"a": [1, 2], "b": [5, 6], "c": [7, 8]}


def test_rows_are_kept_apart(stash: Stash) -> None:
    """R14: two targets of one document have vectors of two models."""
    stash.write(KEY, {"a": vector(1, 2)})
    stash.write(RowKey("other/articles/a"), {"a": vector(3, 4, 5)})

    assert kept(stash) == {"a": [1, 2]}
    assert kept(stash, RowKey("other/articles/a")) == {"a": [3, 4, 5]}
