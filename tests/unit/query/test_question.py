"""Which questions of the commands reach the index."""

import pytest

from functions.query.question import Question, why_refused

INDEXES = ("embedq-dev-default", "embedq-dev-large")


@pytest.mark.parametrize("read", ["_count", "_search", "_refresh"])
def test_question_that_only_reads_an_index_of_the_stage_is_passed_on(read: str) -> None:
    """R40: what search, stats and verify ask."""
    assert why_refused(Question(path=f"embedq-dev-large/{read}"), INDEXES) is None


def test_entries_are_read_by_their_ids() -> None:
    """R40: what verify asks."""
    question = Question(path="embedq-dev-default/_mget", body={"ids": ["a"]})

    assert why_refused(question, INDEXES) is None


@pytest.mark.parametrize(
    "path",
    [
        "embedq-dev-default/_bulk",
        "embedq-dev-default/_doc/a",
        "embedq-dev-default/_delete_by_query",
        "embedq-dev-default-1/_search",
        "embedq-prod-default/_search",
        "embedq-dev-default,other/_search",
        "embedq-dev-default/../other/_search",
        "_search",
        "",
    ],
)
def test_what_writes_or_reads_another_index_is_refused(path: str) -> None:
    """R84: the path is one of a short list."""
    assert why_refused(Question(path=path), INDEXES) == (
        f"{path} is not one of _count, _mget, _refresh, _search of an index of this stage"
    )


@pytest.mark.parametrize("body", [None, {"docs": [{"_index": "other", "_id": "a"}]}])
def test_entries_of_another_index_are_not_read_by_naming_it_in_the_body(body: object) -> None:
    """R84: the path of the request does not show them."""
    question = Question.model_validate({"path": "embedq-dev-default/_mget", "body": body})

    assert why_refused(question, INDEXES) == "_mget takes ids only"
