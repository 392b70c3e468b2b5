"""A simulated load as a picture: what waits and how fresh live writes are, hour by hour."""

from collections.abc import Callable, Iterable, Sequence
from math import log10

from ops.plan.story import HOUR, Moment, Story

WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP = 960, 200, 90, 20, 40, 60
MOST_POINTS = 600
# Readable on light and on dark pages alike.
STYLE = """
  svg { font: 13px system-ui, sans-serif; --ink: #1f2328; --grid: #d1d9e0; --fault: #cf222e22;
        --one: #0969da; --two: #1a7f37; --three: #9a6700; background: #ffffff }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e6edf3; --grid: #3d444d; --fault: #ff7b7233; --one: #58a6ff; --two: #56d364;
          --three: #e3b341; background: #0d1117 } }
  text { fill: var(--ink) } .grid { stroke: var(--grid) } .fault { fill: var(--fault) }
  path { fill: none; stroke-width: 1.5 } .one { stroke: var(--one) } .two { stroke: var(--two) }
  .three { stroke: var(--three) } text.one { fill: var(--one); stroke: none }
  text.two { fill: var(--two); stroke: none } text.three { fill: var(--three); stroke: none }
"""
Line = tuple[str, str, Callable[[Moment], float]]  # colour, name, value
WAITING: tuple[Line, ...] = (
    ("one", "live lanes", lambda m: m.waiting),
    ("two", "bulk lane", lambda m: m.bulk),
    ("three", "parked and healing", lambda m: m.parked + m.healing),
)
LEFT_TO_LOAD: tuple[Line, ...] = (("two", "documents to load", lambda m: m.to_load),)
FRESHNESS: tuple[Line, ...] = (("one", "p95 of live writes", lambda m: m.freshness),)


def draw(story: Story) -> str:
    """Return the picture as SVG."""
    every = max(len(story.moments) // MOST_POINTS, 1)
    # Of each stretch the worst, so that no peak is left out.
    moments = [
        max(story.moments[i : i + every], key=lambda m: m.waiting + m.bulk + m.parked)
        for i in range(0, len(story.moments), every)
    ]
    panels = [
        ("Documents that wait (logarithmic)", WAITING, True),
        ("Seconds from a live write to its entry (logarithmic)", FRESHNESS, True),
        ("Documents that are still to be loaded", LEFT_TO_LOAD, False),
    ]
    height = TOP + len(panels) * (HEIGHT + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<style>{STYLE}</style>",
        f'<text x="{LEFT}" y="20">{story.workload.documents:,} documents,'
        f" {story.workload.writes_per_second:g} live writes/s; shaded: throttled, then down</text>",
    ]
    for number, (title, lines, is_log) in enumerate(panels):
        top = TOP + number * (HEIGHT + GAP)
        parts += _panel(story, moments, title, lines, top, is_log=is_log)
    return "\n".join([*parts, "</svg>", ""])


def _panel(
    story: Story,
    moments: Sequence[Moment],
    title: str,
    lines: Sequence[Line],
    top: int,
    *,
    is_log: bool,
) -> Iterable[str]:
    most = max(max(value(m) for m in moments) for _, _, value in lines)
    ceiling = max(10.0, most)
    hours = moments[-1].seconds / HOUR
    bottom = top + HEIGHT

    def x(seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / moments[-1].seconds

    def y(value: float) -> float:
        share = log10(1 + value) / log10(1 + ceiling) if is_log else value / ceiling
        return bottom - (HEIGHT - 30) * share

    yield f'<text x="{LEFT}" y="{top + 14}">{title}</text>'
    for span in (story.faults.throttled, story.faults.outage):
        start, end = x(span[0]), x(span[1])
        yield (
            f'<rect class="fault" x="{start:.1f}" y="{top + 20}" width="{end - start:.1f}"'
            f' height="{HEIGHT - 20}"/>'
        )
    marks = [10.0**n for n in range(12) if 10.0**n <= ceiling] if is_log else [ceiling / 2, most]
    for mark in marks:
        at = f"{y(mark):.1f}"
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>'
        yield f'<text x="{LEFT - 8}" y="{at}" dy="4" text-anchor="end">{mark:,.0f}</text>'
    for part in range(5):
        hour = moments[-1].seconds * part / 4
        yield (
            f'<text x="{x(hour):.1f}" y="{bottom + 18}" text-anchor="middle">'
            f"{hours * part / 4:,.1f} h</text>"
        )
    for place, (colour, name, value) in enumerate(lines):
        points = " ".join(f"{x(m.seconds):.1f},{y(value(m)):.1f}" for m in moments)
        yield f'<path class="{colour}" d="M{points}"/>'
        yield (
            f'<text class="{colour}" x="{WIDTH - RIGHT}" y="{top + 14 - 16 * place + 16}"'
            f' text-anchor="end">{name}</text>'
        )
