"""A pipeline in memory, with a provider that fails on demand."""

import pytest

from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline
from tests.fake_embedder import FakeEmbedder


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def pipeline(embedder: FakeEmbedder) -> MemoryPipeline:
    return make_pipeline(
        source={"metadata": {"year": "long"}, "skip_attribute": "hidden"},
        target={"chunk_tokens": 60},
        embedders={"default": embedder},
    )
