"""What `make bench-peers` counts as lost, stale, double and paid twice."""

import pytest

from benchmarks.peers.counting import Difference, Sales, Stored, compare
from benchmarks.peers.documents import load, update
from benchmarks.peers.report import Result, lines
from benchmarks.peers.story import Killed, Peace

SOURCE = {"a": "new", "b": "same"}
EQUAL = Difference(lost=0, stale=0, double=0)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        pytest.param([("a", "new"), ("b", "same")], EQUAL, id="equal"),
        pytest.param([("a", "new")], Difference(lost=1, stale=0, double=0), id="lost"),
        pytest.param([("a", "old"), ("b", "same")], Difference(0, 1, 0), id="an old text"),
        pytest.param([*SOURCE.items(), ("a", "old")], Difference(0, 1, 0), id="old beside new"),
        pytest.param([*SOURCE.items(), ("c", "gone")], Difference(0, 1, 0), id="deleted"),
        pytest.param([*SOURCE.items(), ("b", "same")], Difference(0, 0, 1), id="a copy"),
        pytest.param([("a", "old"), ("a", "old")], Difference(1, 1, 0), id="copies of an old one"),
        pytest.param([], Difference(2, 0, 0), id="an empty store"),
    ],
)
def test_store_is_compared_with_its_source(stored: list[Stored], expected: Difference) -> None:
    """Honest figures: each document counts once, as lost or as stale."""
    assert compare(SOURCE, stored) == expected


def test_texts_are_paid_twice_beyond_what_was_needed() -> None:
    """Honest figures: an answer counts; a request that a kill cut off is told apart."""
    sales = Sales(requests=9, sent=130, answered=120) - Sales(requests=2, sent=20, answered=20)

    assert sales == Sales(requests=7, sent=110, answered=100)
    assert sales.paid_twice(needed=90) == 10
    assert sales.paid_twice(needed=100) == 0
    assert sales.cut_off == 10


def test_round_of_changes_edits_and_deletes() -> None:
    """Honest figures: what must be sent is known, and no document is edited and deleted."""
    first = load(60, seed=1)
    second = update(first.after, seed=1)

    assert (first.needed, second.needed, len(second.deletes)) == (60, 20, 6)
    assert not second.puts.keys() & second.deletes
    assert second.after.keys() == first.after.keys() - second.deletes
    changed = {name for name, text in second.after.items() if first.after[name] != text}
    assert changed == second.puts.keys()
    assert len({*first.after.values(), *second.after.values()}) == 80


def result(
    name: str, *, paid: int, difference: Difference = EQUAL, seconds: float | None = 1.0
) -> Result:
    """Make the result of a program that was killed once in a load of ten documents."""
    killed = Killed("load", 10, 1, Sales(2, 20, paid), difference, 0, seconds)
    peace = Peace(10, 2.0, Sales(1, 10, 10), own_cpu_seconds=0.1, store_cpu_seconds=0.5)
    return Result(name, "1.0", "OpenSearch", "again", peace, [killed])


def test_only_a_program_without_any_count_is_named_at_the_end() -> None:
    """Honest figures: a payment or a state that it cannot read is enough to be left out."""
    results = [
        result("whole", paid=10),
        result("costly", paid=11),
        result("stale", paid=10, difference=Difference(0, 1, 0)),
        result("broken", paid=10, seconds=None),
    ]

    printed = list(lines(results, latency_seconds=0.2))

    assert printed[-1] == "zeros in all three counts: whole"
    assert "| costly | 0 | 0 | 1 | again |" in printed
    assert lines_of("broken", printed)[1].endswith("| does not start again |")
    assert lines_of("whole", printed)[0].endswith("| 10.0 | 50.0 | 20.0 | the CPU of its store |")


def lines_of(name: str, printed: list[str]) -> list[str]:
    """Return the rows of one program."""
    return [line for line in printed if line.startswith(f"| {name} |")]
