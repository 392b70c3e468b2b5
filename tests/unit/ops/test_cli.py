"""The embedq command line: what it takes, and what it says when it cannot."""

import pytest

from local import background
from ops.cli import main

COMMANDS = [
    ["up"],
    ["down"],
    ["demo"],
    ["logs"],
    ["put"],
    ["status"],
    ["search"],
    ["stats"],
    ["stuck"],
    ["recover"],
    ["dead", "list"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_of_each_command_has_examples(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: COMMAND --help tells how it is called."""
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])

    assert ended.value.code == 0
    assert f"examples:\n  embedq {' '.join(command)}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [["stats"], ["status", "a"], ["search", "x"], ["put", "{}"], ["dead", "list"]]
)
def test_command_without_a_stack_says_how_to_start_one(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: one sentence and exit code 2, no stack trace."""
    monkeypatch.setattr(background, "find", lambda *_: None)

    assert main(command) == 2

    told = capsys.readouterr().err
    assert told.startswith("embedq: no stack runs here: start one with `embedq up`")
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["dead"], ["put"], ["search", "x", "--most", "many"]]
)
def test_wrong_arguments_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: with the usage and exit code 2."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert "usage: embedq" in capsys.readouterr().err
