"""What `make bench` prints: a figure, its goal, and whether it is met."""

import pytest

from benchmarks.bench.picture import LEFT, draw
from benchmarks.bench.row import Row, number, table


def make_row(value: float, limit: float | None = 2.0, *, at_least: bool = False) -> Row:
    return Row("how fast", value, "x", "a loop", limit=limit, at_least=at_least, note="4 of 2")


@pytest.mark.parametrize(
    ("row", "met", "used"),
    [
        pytest.param(make_row(1.0), True, 0.5, id="below an upper limit"),
        pytest.param(make_row(2.0), True, 1.0, id="at an upper limit"),
        pytest.param(make_row(2.1), False, 1.05, id="above an upper limit"),
        pytest.param(make_row(4.0, at_least=True), True, 0.5, id="above a lower limit"),
        pytest.param(make_row(2.0, at_least=True), True, 1.0, id="at a lower limit"),
        pytest.param(make_row(1.0, at_least=True), False, 2.0, id="below a lower limit"),
        pytest.param(make_row(0.0, at_least=True), False, float("inf"), id="nothing at all"),
        pytest.param(make_row(0.0, 0.0), True, 0.0, id="none allowed, and none"),
        pytest.param(make_row(1.0, 0.0), False, float("inf"), id="none allowed, and one"),
        pytest.param(make_row(1.0, None), None, None, id="only printed"),
    ],
)
def test_goal_is_met_or_not(row: Row, met: bool | None, used: float | None) -> None:
    """Honest figures: a goal is an upper or a lower limit, itself allowed."""
    assert row.is_met is met
    assert row.of_goal == (None if used is None else pytest.approx(used))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"),
        (0.0157, "0.016"),
        (0.1, "0.1"),
        (5.0, "5"),
        (2.054, "2.05"),
        (47.26, "47.3"),
        (1234.5, "1,234"),
    ],
)
def test_number_is_short(value: float, written: str) -> None:
    """Honest figures: three digits, so that a limit and a value just above it differ."""
    assert number(value) == written


def test_table_says_what_is_met() -> None:
    """Honest figures: one row a question, with what it is measured against."""
    lines = list(table([make_row(1.0), make_row(3.0), make_row(3.0, None)]))

    assert [line.split()[-1] for line in lines[2:]] == ["yes", "NO", "printed"]
    assert "1x (4 of 2)" in lines[2]
    assert "a loop" in lines[2]
    assert "at most 2x" in lines[2]


def test_long_cell_goes_on_below() -> None:
    """Honest figures: no word of a question is cut off."""
    question = "how many units a document of one kilobyte takes that is new to the table"
    lines = list(table([Row(question, 1.0, "", "counted")]))

    assert " ".join(line[:44].strip() for line in lines[2:]) == question


def test_picture_has_a_bar_for_each_goal() -> None:
    """Honest figures: what is missed is seen, on light and on dark pages."""
    drawn = draw([make_row(1.0), make_row(9.0), make_row(1.0, None)], "a < b")

    assert drawn.count("<rect") == 2
    assert drawn.count('class="met"') == 1
    assert drawn.count('class="missed"') == 1
    assert "prefers-color-scheme: dark" in drawn
    assert "a &lt; b" in drawn


def test_bar_of_a_missed_goal_is_longer_than_one_of_a_met_goal() -> None:
    """Honest figures: the line of the goal parts them."""
    met, missed = (draw([make_row(value)], "") for value in (1.0, 3.0))

    def width(drawn: str) -> float:
        return float(drawn.split('<rect class="m', 1)[1].split('width="')[1].split('"')[0])

    def goal(drawn: str) -> float:
        return float(drawn.split('<line class="grid" x1="')[1].split('"')[0]) - LEFT

    assert width(met) < goal(met) < width(missed)
