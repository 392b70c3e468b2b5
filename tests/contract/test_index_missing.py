"""An index that is not there, or not behind its alias: reported, never made by accident."""

from uuid import uuid4

import pytest

from functions.adapters.opensearch_http import OpenSearchError, OpenSearchHttp
from functions.adapters.opensearch_index import OpenSearchIndex
from functions.core.failure import Failure, FailureError, FailureKind
from tests.contract.index_engines import entry, opensearch, tombstone

pytestmark = [pytest.mark.engines, pytest.mark.timeout(600)]


def missing(name: str) -> Failure:
    """Return what each document gets: a person must act, and no attempt is spent."""
    return Failure(FailureKind.CONFIGURATION, f"OpenSearch has no index behind {name}")


@pytest.fixture
def http(request: pytest.FixtureRequest) -> OpenSearchHttp:
    return opensearch(request)


@pytest.fixture
def name() -> str:
    return f"missing-{uuid4()}"


def test_write_without_an_alias_fails_and_makes_no_index(http: OpenSearchHttp, name: str) -> None:
    """R12 R22: an index without the k-NN mapping would take entries and never find them."""
    results = OpenSearchIndex(http, name).write([entry("a"), tombstone("b")], searchable_now=True)

    assert list(results.values()) == [missing(name), missing(name)]
    with pytest.raises(OpenSearchError, match="404 index_not_found_exception"):
        http.call("GET", name)


def test_write_to_an_index_that_is_no_alias_fails(http: OpenSearchHttp, name: str) -> None:
    """R12: a bare index of that name was not made by index_setup."""
    http.call("PUT", name, {})

    [result] = OpenSearchIndex(http, name).write([entry("a")], searchable_now=True).values()

    assert result == missing(name)
    assert http.call("GET", f"{name}/_count")["count"] == 0
    http.call("DELETE", name)


def test_read_without_an_index_is_a_failure_and_not_an_absence(
    http: OpenSearchHttp, name: str
) -> None:
    """R13 R22: taken for absent, every vector would be paid before the write fails."""
    with pytest.raises(FailureError) as caught:
        OpenSearchIndex(http, name).read([entry("a").entry_id])

    assert caught.value.failure == missing(name)


def test_removal_without_an_index_fails_and_makes_none(http: OpenSearchHttp, name: str) -> None:
    """R07 R12: a delete with an external version would make it, without the k-NN mapping."""
    with pytest.raises(FailureError) as caught:
        OpenSearchIndex(http, name).remove({entry("a").entry_id: 1})

    assert caught.value.failure == missing(name)
    with pytest.raises(OpenSearchError, match="404 index_not_found_exception"):
        http.call("GET", name)
