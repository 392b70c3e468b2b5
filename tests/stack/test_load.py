"""A small load through the real stack: the benchmark's own run, and what it would say."""

from benchmarks.load import measure
from functions.core.lane import Lane
from local.stack import LocalStack
from ops.demo.provider import Provider
from tests.stack.articles import Articles


def test_hundred_documents_all_arrive(articles: Articles, stack: LocalStack) -> None:
    """R09 R31 R82: index equals table, every chunk is paid once, in packed requests."""
    figures = measure(
        articles.deployment,
        Provider(stack.model_origin),
        documents=100,
        lane=Lane.NORMAL,
        say=lambda _: None,
    )

    assert figures.differences == []
    assert figures.paid == figures.chunks == 100
    assert figures.requests <= 50
    assert "100 documents through the normal lane, hashed vectors" in list(figures.lines())
