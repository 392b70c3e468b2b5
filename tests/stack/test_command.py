"""The operator's view of the real stack: counted, searched, sent again, compared."""

from dataclasses import replace
from pathlib import Path

import pytest

from functions.adapters.opensearch_http import OpenSearchError
from functions.core.ledger_row import Status
from local.stack import LocalStack
from ops.forgetting import forget
from ops.measured import Figures, measured
from ops.output import UsageError
from ops.recovery import Recovered, recover
from ops.searching import find
from ops.statistics import stats
from ops.verification import differences
from tests.builders import make_row
from tests.stack.articles import Articles
from tests.stack.mappings import disabled
from tests.waiting import until

NOWHERE = "https://vpc-nowhere.invalid"


def searchable(articles: Articles) -> int:
    """Return how many documents the statistics count as searchable."""
    [target] = stats(articles.deployment).targets
    return target.searchable


def test_statistics_count_what_can_be_found(articles: Articles) -> None:
    """R40: one more after a write, one less after a delete."""
    before = searchable(articles)
    name = articles.new_name()

    articles.indexed(name, "hello")
    counted = searchable(articles)
    articles.delete(name)
    articles.wait(name, status=Status.DELETED)

    assert (counted, searchable(articles)) == (before + 1, before)


def test_statistics_say_how_fresh_the_index_is_and_what_was_paid(articles: Articles) -> None:
    """R40 R60: by the metrics that embed has written, asked as in AWS."""

    def found() -> Figures:
        answer = measured(articles.deployment)
        assert isinstance(answer, Figures), answer
        return answer

    before = found().last_hour.tokens
    row = articles.indexed(articles.new_name(), "a heron at the weir")

    until(lambda: found().last_hour.tokens >= before + row.indexed.tokens, "its tokens")
    answer = found()
    assert answer.p50_seconds is not None
    assert answer.p95_seconds is not None
    assert 0 < answer.p50_seconds <= answer.p95_seconds < 3600
    assert answer.last_hour.usd


def test_commands_need_no_way_to_the_index(articles: Articles) -> None:
    """R40 R48: a function of the stack asks it, as for an index inside a VPC."""
    name = articles.new_name()
    articles.indexed(name, "a lighthouse keeper")
    known = articles.deployment.outputs
    outside = replace(articles.deployment, outputs={**known, "IndexEndpoint": NOWHERE})

    hits = find(outside, "a lighthouse keeper")

    assert name in [hit.document_id for hit in hits]
    [target] = stats(outside).targets
    assert target.searchable == searchable(articles)
    assert differences(outside, wait=lambda _: None) == []


def test_function_that_commands_ask_changes_nothing(articles: Articles) -> None:
    """R84: a write, and another index, are refused."""
    index, alias = articles.deployment.index, articles.deployment.target("default").index

    for path in (f"{alias}/_delete_by_query", "other/_search"):
        with pytest.raises(OpenSearchError, match=f"403 not_allowed: {path}"):
            index.call("POST", path, {"query": {"match_all": {}}})


def test_rows_of_a_target_that_is_gone_are_forgotten(articles: Articles, tmp_path: Path) -> None:
    """R40: exported, then removed; the rows of others stay."""
    name = articles.new_name()
    articles.indexed(name, "hello")
    former = make_row(target="former", revision=0)
    articles.deployment.ledger.write([former])

    answer = forget(articles.deployment, target="former", export=tmp_path / "rows").act()

    assert answer.rows == len((tmp_path / "rows").read_text().splitlines()) == 1
    assert articles.deployment.ledger.read([former.row_key]) == {}
    assert articles.row(name).status is Status.COMPLETED


def test_purged_lane_is_recovered_from_the_ledger(articles: Articles, stack: LocalStack) -> None:
    """R31 R40: recover sends every open document again."""
    name = articles.new_name()
    with disabled(stack, articles, "normal"):
        articles.put(name, "hello")
        articles.wait(name, status=Status.PENDING)
        articles.sqs.purge_queue(QueueUrl=articles.lane("normal"))
        assert articles.depth("normal") == (0, 0)

    assert recover(articles.deployment).act() == Recovered(sent=1, open=1)

    articles.wait(name)


def test_search_that_could_find_nothing_is_refused_in_a_sentence(articles: Articles) -> None:
    """R48: a date that is none."""
    with pytest.raises(UsageError, match="the search failed: published is a date such as"):
        find(articles.deployment, "anything", filters=["published=never"])
