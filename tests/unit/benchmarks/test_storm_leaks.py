"""Output of a storm: texts, vectors and keys are found wherever they stand."""

import base64
import json

import numpy as np
import pytest

from benchmarks.storm.leaks import leaks
from benchmarks.storm.operations import Content
from benchmarks.storm.texts import item
from functions.core.lane import Lane

KEY = "key-of-a-test"
VECTOR = np.random.default_rng(1).normal(size=32).astype(np.float32) / 6
ITEM = item("document-1", Content(paragraphs=(1,), author="a", priority=Lane.NORMAL))


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ("text", ITEM["body"]),
        ("text", ITEM["title"]),
        ("vector", json.dumps(VECTOR.tolist())),
        ("vector", str(VECTOR)),
        ("vector", base64.b64encode(VECTOR.tobytes()).decode()),
        ("key", f"Bearer {KEY}"),
    ],
)
def test_secret_is_found_in_a_line(kind: str, secret: str) -> None:
    """R63: in a message, an error or a stack trace."""
    line = f"task_failed for document-1: {secret}".replace("\n", " ")

    [found, *_] = leaks(["an ordinary line", line], key=KEY)

    assert found.startswith(kind)


def test_ids_numbers_and_measures_are_no_secret() -> None:
    """R63: what is logged on purpose."""
    metrics = json.dumps({"FreshnessMilliseconds": [1234.5, 88.25, 0.5] * 30, "service": "embed"})
    hashed = json.dumps({"message": "task_completed", "row": "a" * 64, "version": 1794899292242})

    assert list(leaks([metrics, hashed], key=KEY)) == []
