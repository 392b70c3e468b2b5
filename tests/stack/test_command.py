"""The operator's view of the real stack: counted, searched, sent again, compared."""

import pytest

from functions.core.ledger_row import Status
from local.stack import LocalStack
from ops.output import UsageError
from ops.recovery import Recovered, recover
from ops.searching import find
from ops.statistics import stats
from ops.verification import differences, verify
from tests.stack.articles import Articles
from tests.stack.mappings import disabled


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


def test_purged_lane_is_recovered_from_the_ledger(articles: Articles, stack: LocalStack) -> None:
    """R31 R40: recover sends every open document again."""
    name = articles.new_name()
    with disabled(stack, articles, "normal"):
        articles.put(name, "hello")
        articles.wait(name, status=Status.PENDING)
        articles.sqs.purge_queue(QueueUrl=articles.lane("normal"))
        assert articles.depth("normal") == (0, 0)

    assert recover(articles.deployment, yes=True) == Recovered(sent=1, open=1)

    articles.wait(name)


def test_search_that_opensearch_refuses_is_reported_in_a_sentence(articles: Articles) -> None:
    """R48: a date that is none."""
    with pytest.raises(UsageError, match="the search failed: OpenSearch answered 400"):
        find(articles.deployment, "anything", filters=["published=never"])


def test_difference_between_table_and_index_is_named(articles: Articles) -> None:
    """R40: an entry that is gone; the next write of the document brings it back."""
    name = articles.new_name()
    row = articles.indexed(name, "hello")
    assert differences(articles.deployment) == []

    articles.remove_entry(name)

    assert differences(articles.deployment) == [f"{name}: not in the index"]
    articles.put(name, "hello again")
    articles.wait(name, above=row.task.version)
    assert differences(articles.deployment) == []


def test_entry_that_no_item_asks_for_is_counted(articles: Articles) -> None:
    """R40: found, and not in the table."""
    name = articles.new_name("ghost")

    articles.add_entry(name)

    answer = verify(articles.deployment)
    [line] = answer.differences
    assert "documents can be found, and the table has" in line
    assert answer.exit_code == 1
    articles.remove_entry(name)
    assert verify(articles.deployment).exit_code == 0
