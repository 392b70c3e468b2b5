"""Measures of what searches find, against values worked out by hand."""

import sys
from math import log2

import pytest

from ops.output import UsageError
from ops.quality import Interval, Judgment, interval, ndcg_difference, overlap, quality

JUDGMENTS = [
    Judgment("1", "best first", {"a": 2, "b": 1}),
    Judgment("2", "second of them", {"c": 1}),
    Judgment("3", "nothing found", {"d": 1}),
]
RUN = {"1": ["a", "b", "x"], "2": ["x", "c"]}


def test_measures_are_those_of_the_textbook() -> None:
    """R52: nDCG with linear gains, recall and reciprocal rank; what finds nothing counts as 0."""
    found = quality(JUDGMENTS, RUN)

    assert found.ndcg_at_10.mean == pytest.approx((1 + 1 / log2(3) + 0) / 3)
    assert found.recall_at_10.mean == pytest.approx((1 + 1 + 0) / 3)
    assert found.mrr_at_10.mean == pytest.approx((1 + 1 / 2 + 0) / 3)


def test_graded_documents_in_the_wrong_order_cost() -> None:
    """R52: the better one should come first."""
    found = quality(JUDGMENTS[:1], {"1": ["b", "a"]})

    best = 2 + 1 / log2(3)
    assert found.ndcg_at_10.mean == pytest.approx((1 + 2 / log2(3)) / best)
    assert found.mrr_at_10.mean == 1


def test_only_the_first_ten_count() -> None:
    """R52: in their order, whatever their names."""
    others = [f"x{number}" for number in range(20)]

    tenth = quality(JUDGMENTS[1:2], {"2": [*others[:9], "c"]})
    eleventh = quality(JUDGMENTS[1:2], {"2": [*others[:10], "c"]})

    assert tenth.mrr_at_10.mean == pytest.approx(1 / 10)
    assert tenth.ndcg_at_10.mean == pytest.approx(1 / log2(11))
    assert (eleventh.recall_at_10.mean, eleventh.mrr_at_10.mean) == (0, 0)


def test_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    """R52: the same values give the same bounds."""
    few, many = interval([0.0, 1.0] * 10), interval([0.0, 1.0] * 1000)

    assert few == interval([0.0, 1.0] * 10)
    assert few.mean == many.mean == 0.5
    assert few.low < many.low < 0.5 < many.high < few.high
    # The normal approximation: 1.96 times the standard error.
    assert many.high - many.low == pytest.approx(2 * 1.96 * 0.5 / 2000**0.5, rel=0.1)


def test_interval_of_equal_values_has_no_width() -> None:
    """R52: also of one question."""
    assert interval([1.0]) == Interval(mean=1, low=1, high=1)
    assert str(interval([0.25, 0.25])) == "0.250 (0.250 to 0.250)"


def test_difference_is_taken_question_by_question() -> None:
    """R52: two models that are equally good on each question differ by nothing, surely."""
    other = {"1": ["a", "b", "y"], "2": ["y", "c"]}

    assert ndcg_difference(JUDGMENTS, RUN, other) == Interval(mean=0, low=0, high=0)
    worse = ndcg_difference(JUDGMENTS, RUN, {"1": ["a", "b"]})
    assert worse.mean == pytest.approx(-1 / log2(3) / 3)


def test_overlap_is_the_share_that_two_answers_have_in_common() -> None:
    """R52: of the first ten; two empty answers agree."""
    first = {"1": ["a", "b"], "2": ["c"], "3": []}
    second = {"1": ["b", "x"], "2": ["c", "d"], "3": []}

    assert overlap(first, second).mean == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """R52: the wheel brings it only when it is asked for."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)

    with pytest.raises(UsageError, match=r"pip install 'embedq\[eval\]'"):
        quality(JUDGMENTS, RUN)
