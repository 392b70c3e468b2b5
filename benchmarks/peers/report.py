"""What was measured -> tables for people. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.peers.story import Killed, Peace


@dataclass(frozen=True)
class Result:
    """All of one program."""

    name: str
    version: str
    store: str
    restart: str
    peace: Peace
    rounds: Sequence[Killed]

    @property
    def is_whole(self) -> bool:
        """Tell whether it came back after each kill, with nothing to count."""
        return not any(self.counts) and all(one.seconds is not None for one in self.rounds)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return lost, stale and paid twice, over all rounds."""
        return (
            sum(one.difference.lost for one in self.rounds),
            sum(one.difference.stale for one in self.rounds),
            sum(one.sales.paid_twice(one.needed) for one in self.rounds),
        )


def lines(results: Sequence[Result], latency_seconds: float) -> Iterator[str]:
    """Write the tables and what follows from them."""
    yield from _table(PEACE, [_peace(one, latency_seconds) for one in results])
    yield ""
    yield from _table(KILLED, [_killed(one, each) for one in results for each in one.rounds])
    yield ""
    yield from _table(
        ("program", "lost", "stale", "paid twice", "after a kill"),
        [(one.name, *map(str, one.counts), one.restart) for one in results],
    )
    zeros = [one.name for one in results if one.is_whole]
    yield ""
    yield f"zeros in all three counts: {', '.join(zeros) or 'no program'}"


PEACE = (
    "program",
    "version",
    "store",
    "documents/s",
    "texts a request",
    "own CPU s",
    "store CPU s",
    "provider s",
    "bound by",
)
KILLED = (
    "program",
    "round",
    "kills",
    "needed",
    "lost",
    "stale",
    "double",
    "paid twice",
    "cut off",
    "missing meanwhile",
    "whole after s",
)


def _peace(one: Result, latency_seconds: float) -> tuple[str, ...]:
    peace = one.peace
    # Of 1,000 documents, and not of the time that passed: a busy machine changes only that.
    seconds = {
        "its own CPU": peace.own_cpu_seconds,
        "the CPU of its store": peace.store_cpu_seconds,
        "the provider's answers": peace.sales.requests * latency_seconds,
    }
    return (
        one.name,
        one.version,
        one.store,
        f"{peace.documents / peace.seconds:.0f}",
        f"{peace.sales.sent / max(1, peace.sales.requests):.0f}",
        *(f"{1000 * each / peace.documents:.1f}" for each in seconds.values()),
        max(seconds, key=lambda name: seconds[name]),
    )


def _killed(one: Result, each: Killed) -> tuple[str, ...]:
    difference = each.difference
    return (
        one.name,
        each.name,
        *map(str, (each.kills, each.needed)),
        *map(str, (difference.lost, difference.stale, difference.double)),
        *map(str, (each.sales.paid_twice(each.needed), each.sales.cut_off, each.missing)),
        "does not start again" if each.seconds is None else f"{each.seconds:.0f}",
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
