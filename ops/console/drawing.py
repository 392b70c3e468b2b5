"""Numbers as lines and bars: the paths of small SVG pictures. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 240, 48
# So that a line at the edge is not cut.
MARGIN = 3
BARS = 24


@dataclass(frozen=True)
class Trend:
    """One number over time, as a line with an area below it."""

    line: str
    area: str
    last_x: float
    last_y: float
    highest: float


@dataclass(frozen=True)
class Bar:
    """One bar of a histogram."""

    x: float
    y: float
    width: float
    height: float


def trend(points: Sequence[tuple[float, float]]) -> Trend | None:
    """Draw (time, number) pairs; None if there are too few to be a line."""
    if len(points) < 2 or points[0][0] == points[-1][0]:
        return None
    first, last = points[0][0], points[-1][0]
    highest = max(number for _, number in points)
    places = [
        (
            WIDTH * (at - first) / (last - first),
            HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (number / highest if highest else 0),
        )
        for at, number in points
    ]
    line = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    return Trend(
        line=line,
        area=f"{line} L{WIDTH} {HEIGHT} L0 {HEIGHT} Z",
        last_x=places[-1][0],
        last_y=places[-1][1],
        highest=highest,
    )


def histogram(times: Sequence[float], *, since: float, until: float) -> list[int]:
    """Count times in equal parts of a span; what is earlier belongs to the first part."""
    counts = [0] * BARS
    for at in times:
        place = int(BARS * (at - since) / (until - since))
        counts[min(max(place, 0), BARS - 1)] += 1
    return counts


def bars(counts: Sequence[int]) -> list[Bar]:
    """Draw a histogram; each part with something in it is seen."""
    step = WIDTH / len(counts)
    highest = max(counts, default=0) or 1
    found = []
    for number, count in enumerate(counts):
        height = max(HEIGHT * count / highest, MARGIN) if count else 1.0
        found.append(Bar(number * step, HEIGHT - height, step - 2, height))
    return found
