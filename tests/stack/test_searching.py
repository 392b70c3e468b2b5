"""The client of a service on the whole stack, through the environment that `embedq up` prints."""

from collections.abc import Iterator

import pytest

import embedq
from local.aws_client import CREDENTIALS, REGION
from local.provider.faults import Fault, FaultKind
from local.stack import LocalStack
from ops import client
from tests.stack.articles import Articles
from tests.stack.mappings import disabled


@pytest.fixture(autouse=True)
def environment(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set what a service at home is given."""
    values = {
        "AWS_ENDPOINT_URL": stack.endpoint_url,
        "AWS_REGION": REGION,
        "EMBEDQ_STAGE": "own",
        **CREDENTIALS,
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    client._deployment.cache_clear()
    yield
    client._deployment.cache_clear()


def test_service_writes_waits_searches_and_reads_the_status(articles: Articles) -> None:
    """R48 R51: hybrid, a passage with its place, a filter, and no wait for the queue but one."""
    name = articles.new_name("lighthouse")
    articles.put(name, "The keeper of the lighthouse winds the clock every evening.")

    embedq.wait(name, source="articles", target="default")
    answer = embedq.search("lighthouse clock", target="default", sources=["articles"], size=50)

    found = next(one for one in answer.results if one.document == name)
    assert (answer.mode, answer.notes) == ("hybrid", ())
    assert "lighthouse" in found.passage.text
    assert found.passage.start == 0
    assert found.passage.end == len(found.passage.text)
    state = embedq.status(name, source="articles", target="default")
    assert state.status == "completed"
    articles.delete(name)
    embedq.wait(name, source="articles", target="default")
    again = embedq.search("lighthouse clock", target="default", sources=["articles"], size=50)
    assert name not in [one.document for one in again.results]


def test_service_embeds_a_document_in_its_own_process(
    articles: Articles, stack: LocalStack
) -> None:
    """R47 R51: past queues and functions; the next search finds it."""
    name = articles.new_name("windmill")
    with disabled(stack, articles, "normal"):
        articles.put(name, "The windmill grinds rye on the hill.")

        ended = embedq.embed({"id": name}, source="articles", target="default")

        assert (ended.status, ended.error) == ("completed", None)
        answer = embedq.search("windmill rye", target="default", sources=["articles"], size=50)
        assert name in [one.document for one in answer.results]


def test_search_goes_on_by_text_while_the_provider_is_down(articles: Articles) -> None:
    """R48: the answer says so."""
    name = articles.new_name("harbour")
    articles.indexed(name, "A ferry leaves the harbour at noon.")
    articles.break_provider(Fault(FaultKind.SERVER_ERROR, status=503))
    try:
        answer = embedq.search("ferry harbour noon", target="default", size=50)
    finally:
        articles.break_provider()

    assert answer.mode == "text"
    assert name in [one.document for one in answer.results]
    assert answer.notes[0].startswith("by text alone: the provider failed")
