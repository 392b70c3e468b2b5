"""What both demos are made of: numbered steps that wait, check and print."""

import textwrap
import time
from collections.abc import Callable, Sequence

WAIT_SECONDS = 120.0
WIDTH = 78


class StoryError(Exception):
    """A step did not end as the demo expects."""


class Steps:
    """Runs steps one after the other, and stops at the first that fails."""

    def __init__(
        self, say: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._clock = clock

    def steps(self) -> Sequence[Callable[[], None]]:
        """Return the steps; each is named by its docstring."""
        raise NotImplementedError

    def tick(self) -> None:
        """Let some time pass."""
        raise NotImplementedError

    def run(self) -> None:
        """Run all steps."""
        for number, step in enumerate(self.steps(), start=1):
            self._say("")
            self._say(f"{number}. {step.__doc__}")
            step()

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = self._clock() + WAIT_SECONDS
        while not condition():
            self._expect(self._clock() < deadline, f"within {WAIT_SECONDS:.0f} s: {what}")
            self.tick()

    def _expect(self, holds: bool, what: str) -> None:
        if not holds:
            raise StoryError(f"the demo expected that {what}, and it did not happen")

    def _print(self, text: str) -> None:
        for line in textwrap.wrap(text, WIDTH, subsequent_indent="  "):
            self._say(f"   {line}")
