"""Numbers on the command line: counted and compared without a surprise."""

import click
import pytest

from ops.cli import command_line, main
from ops.numbers import Amount, Count


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e300"])
def test_number_that_no_limit_holds_is_refused(text: str) -> None:
    """R40: `nan` is in every range, and a wait or a gate with it has no end and no limit."""
    with pytest.raises(click.BadParameter, match="no number that can be used here"):
        Amount().convert(text, None, None)


@pytest.mark.parametrize("text", ["1e6", "1.5", "many", "", 400 * "9"])
def test_what_is_no_whole_number_is_said_in_plain_words(text: str) -> None:
    """R40: and one with hundreds of digits, which nothing counts, is none."""
    with pytest.raises(click.BadParameter, match="is no whole number of at most 15 digits"):
        Count().convert(text, None, None)


@pytest.mark.parametrize(("text", "number"), [("7", 7), (" 7 ", 7), ("-3", -3), ("1_000", 1000)])
def test_whole_number_is_read(text: str, number: int) -> None:
    """R40: as Python writes it."""
    assert Count().convert(text, None, None) == number


def test_range_is_kept() -> None:
    """R40: as before."""
    with pytest.raises(click.BadParameter, match="is not in the range"):
        Count(1, 5).convert("6", None, None)
    assert Amount(0, 1).convert("0.5", None, None) == 0.5


@pytest.mark.parametrize(
    "words",
    [
        ["wait", "a", "--seconds", "nan"],
        ["migrate", "switch", "--reason", "x", "--least-coverage", "nan"],
        ["budget", "raise", "--reason", "x", "--until", "2h", "--usd", "inf"],
        ["plan", "--documents", "10", "--tokens", "nan"],
        ["plan", "--documents", 400 * "9", "--tokens", "5"],
    ],
    ids=" ".join,
)
def test_command_refuses_it(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """R40: before it looks for a stack."""
    assert main(words) == 2

    assert "Error: Invalid value for '--" in capsys.readouterr().err


def test_every_number_of_a_command_is_checked() -> None:
    """R40: no option takes a number that click alone reads."""

    def options(command: click.Command) -> list[click.Parameter]:
        inner = command.commands.values() if isinstance(command, click.Group) else ()
        return [*command.params, *(one for each in inner for one in options(each))]

    plain = [
        one.name
        for one in options(command_line())
        if isinstance(one.type, click.types.FloatParamType | click.types.IntParamType)
        and not isinstance(one.type, Amount | Count)
    ]

    assert plain == []
