"""Metric math, as far as the template uses it."""

import pytest

from local.watch.expressions import ExpressionError, Series, evaluate

SERIES: dict[str, Series] = {"a": [1.0, None, 3.0], "b": [0.0, 2.0, 4.0]}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a + b", [1.0, None, 7.0]),
        ("FILL(a, 0) + b", [1.0, 2.0, 7.0]),
        ("100 * a / b", [None, None, 75.0]),
        ("-a", [-1.0, None, -3.0]),
        ("a >= 2", [0.0, None, 1.0]),
        ("IF(b > 1 AND FILL(a, 0) == 0, 1, 0)", [0.0, 1.0, 0.0]),
        ("IF(b > 3 || b == 0, a, 9)", [1.0, 9.0, 3.0]),
        ("MAX([a, b])", [1.0, 2.0, 4.0]),
        ("SUM([FILL(a, 0), b])", [1.0, 2.0, 7.0]),
    ],
)
def test_expression_has_a_value_in_each_period(expression: str, expected: Series) -> None:
    """R61: what is made from a missing value is missing, unless it is filled."""
    assert evaluate(expression, SERIES, 3) == expected


@pytest.mark.parametrize("expression", ["RATE(a)", "c + 1", "a ** b", "a +", "FILL(a, REPEAT)"])
def test_what_is_not_known_is_an_error(expression: str) -> None:
    """R61: an alarm that cannot be evaluated is not taken for one that is quiet."""
    with pytest.raises(ExpressionError):
        evaluate(expression, SERIES, 3)
