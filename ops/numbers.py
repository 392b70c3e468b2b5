"""Numbers on the command line: those that can be compared, counted and stored, and no others."""

import math
import re
from typing import Any

import click

MOST_DIGITS = 15  # a double counts so far exactly
WHOLE = re.compile(rf"[+-]?[\d_]{{1,{MOST_DIGITS}}}")


class Count(click.IntRange):
    """A whole number."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Refuse what is none in plain words, and one that no figure of a plan can hold."""
        if isinstance(value, str) and not WHOLE.fullmatch(value.strip()):
            self.fail(f"{value!r} is no whole number of at most {MOST_DIGITS} digits", param, ctx)
        return int(super().convert(value, param, ctx))


class Amount(click.FloatRange):
    """A number, perhaps with decimals."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Refuse `nan`, which passes every comparison of a range, and what is beyond all limits."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number) or abs(number) >= 10**MOST_DIGITS:
            self.fail(f"{value!r} is no number that can be used here", param, ctx)
        return number
