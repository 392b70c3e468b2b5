"""Numbers as pictures."""

from ops.console.drawing import BARS, HEIGHT, MARGIN, WIDTH, bars, histogram, trend


def test_trend_reaches_from_the_first_to_the_last_moment() -> None:
    """R49: the highest number at the top, zero at the bottom."""
    drawn = trend([(100, 0), (110, 5), (120, 10)])

    assert drawn is not None
    assert drawn.line == f"M0.0 {HEIGHT - MARGIN}.0 L{WIDTH / 2} 24.0 L{WIDTH}.0 {MARGIN}.0"
    assert (drawn.last_x, drawn.last_y, drawn.highest) == (WIDTH, MARGIN, 10)


def test_too_few_points_are_no_line() -> None:
    """R49: nothing is drawn that was not seen."""
    assert trend([]) is None
    assert trend([(1, 1)]) is None
    assert trend([(1, 1), (1, 2)]) is None


def test_line_of_zeros_stays_at_the_bottom() -> None:
    """R49: without a division by nothing."""
    drawn = trend([(0, 0), (1, 0)])

    assert drawn is not None
    assert drawn.last_y == HEIGHT - MARGIN


def test_times_are_counted_in_equal_parts() -> None:
    """R42 R49: what is older belongs to the first part, what is newer to the last."""
    counts = histogram([-50, 0, 5, 119, 500], since=0, until=120)

    assert (sum(counts), counts[0], counts[1], counts[-1]) == (5, 2, 1, 2)


def test_each_part_with_something_in_it_is_seen() -> None:
    """R42 R49: one among thousands has a bar too."""
    drawn = bars([0, 1, 5000] + [0] * (BARS - 3))

    assert [one.height for one in drawn[:3]] == [1.0, MARGIN, HEIGHT]
    assert all(one.x + one.width <= WIDTH for one in drawn)
