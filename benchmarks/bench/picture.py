"""Rows -> a picture: how much of its goal each figure uses; left of the line it is met. Pure."""

from collections.abc import Iterable, Sequence
from html import escape

from benchmarks.bench.row import Row

WIDTH, LEFT, RIGHT, TOP, STEP, BAR = 960, 380, 190, 60, 26, 14
MOST = 2.0  # of a goal: what uses more ends at the edge
# Readable on light and on dark pages alike.
STYLE = """
  svg { font: 12px system-ui, sans-serif; --ink: #1f2328; --grid: #59636e; --met: #1a7f37;
        --missed: #cf222e; background: #ffffff }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e6edf3; --grid: #9198a1; --met: #56d364; --missed: #ff7b72;
          background: #0d1117 } }
  text { fill: var(--ink) } .grid { stroke: var(--grid); stroke-dasharray: 4 3 }
  .met { fill: var(--met) } .missed { fill: var(--missed) }
"""


def draw(rows: Sequence[Row], title: str) -> str:
    """Return the picture as SVG: a bar for each row that has a goal."""
    shown = [row for row in rows if row.limit is not None]
    height = TOP + STEP * len(shown) + 20
    goal = _x(1.0)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<style>{STYLE}</style>",
            f'<text x="10" y="20">{escape(title)}</text>',
            f'<text x="{goal:.0f}" y="{TOP - 16}" text-anchor="middle">goal</text>',
            *_bars(shown),
            f'<line class="grid" x1="{goal:.0f}" x2="{goal:.0f}" y1="{TOP - 10}"'
            f' y2="{height - 14}"/>',
            "</svg>",
            "",
        ]
    )


def _bars(rows: Sequence[Row]) -> Iterable[str]:
    for place, row in enumerate(rows):
        top = TOP + STEP * place
        used = min(row.of_goal or 0.0, MOST)
        colour = "met" if row.is_met else "missed"
        # A bar of nothing is still seen.
        width = max(_x(used) - LEFT, 2.0)
        figure = f"{row.figure.split(' (')[0]}, {row.goal}"
        yield (
            f'<text x="{LEFT - 10}" y="{top + 11}" text-anchor="end">{escape(row.question)}</text>'
        )
        yield (
            f'<rect class="{colour}" x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}">'
            f"<title>{escape(row.figure)}</title></rect>"
        )
        yield f'<text x="{LEFT + width + 6:.1f}" y="{top + 11}">{escape(figure)}</text>'


def _x(used: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * used / MOST
