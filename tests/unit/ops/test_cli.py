"""The embedq command line: what it takes, what it prints where, and its exit codes."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from io import StringIO
from types import SimpleNamespace
from typing import Any

import boto3
import click
import pytest
from rich.text import Text

from embedq import __version__
from local import background
from ops import __main__ as program
from ops import cli, frame, output
from ops.cli import command_line, main
from ops.deployment import Deployment
from ops.frame import Noun
from ops.output import Answer, CommandError, confirm, say
from tests.repo.checkout import ROOT

WITH_A_STACK = [["stats"], ["status", "a"], ["search", "x"], ["put", "{}"], ["dead", "list"]]


def all_commands() -> Iterator[list[str]]:
    """Yield the words of every command."""
    for name, command in command_line().commands.items():
        inner = command.commands if isinstance(command, click.Group) else None
        yield from ([name, one] for one in inner) if inner else [[name]]


class Sample(Answer):
    """An answer of one value."""

    value: int

    @property
    def exit_code(self) -> int:
        return self.value

    def view(self) -> Iterable[str]:
        return [f"the value is {self.value}"]


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> Noun:
    """Return a noun that the command line has besides its own."""
    noun = Noun("Samples")
    monkeypatch.setattr(cli, "NOUNS", (*cli.NOUNS, noun))
    return noun


def raising(noun: Noun, error: BaseException) -> None:
    """Add a command `sample` that raises."""

    @noun.command(examples=["sample"])
    def sample() -> Answer:
        """Raise."""
        raise error


@pytest.mark.parametrize("command", list(all_commands()), ids=" ".join)
def test_help_of_each_command_begins_with_examples(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: COMMAND --help shows how it is called, and every command has --json."""
    assert main([*command, "--help"]) == 0

    shown = capsys.readouterr().out
    assert f"Examples:\n  embedq {' '.join(command)}" in shown
    assert shown.index("Examples:") < shown.index("Usage:") < shown.rindex("--json ")


@pytest.mark.parametrize(("words", "code"), [("status", 2), ("dead show", 2), ("dead", 0)])
def test_name_of_a_command_alone_shows_its_help(
    words: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: instead of a usage error; on stderr where something was missing."""
    assert main(words.split()) == code

    printed = capsys.readouterr()
    shown, other = (printed.err, printed.out) if code else (printed.out, printed.err)
    assert f"Usage: embedq {words}" in shown
    assert other == ""


@pytest.mark.parametrize("command", WITH_A_STACK, ids=" ".join)
def test_command_without_a_stack_says_how_to_start_one(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: one sentence and exit code 2, no stack trace."""
    monkeypatch.setattr(background, "find", lambda *_: None)

    assert main(command) == 2

    printed = capsys.readouterr()
    assert printed.err.startswith("embedq: no stack runs here: start one with `embedq up`")
    assert (printed.err.count("\n"), printed.out) == (1, "")


READ_ONLY = {
    "actions",
    "breakers",
    "budget show",
    "console",
    "dead causes",
    "dead export",
    "dead list",
    "dead show",
    "eval",
    "get",
    "health",
    "jobs list",
    "lanes",
    "migrate status",
    "search",
    "stats",
    "status",
    "stuck",
    "timeline",
    "plan",
    "verify",
    "wait",
}
ABOUT_ONE = ("status", "search", "dead show", "get", "timeline", "wait")
# With the least that each needs.
CHANGING = {
    "budget raise": ["--until", "2099-01-01", "--reason", "x"],
    "dead purge": [__file__, "--reason", "x"],
    "dead redrive": [],
    "dead requeue": [],
    "dead stop": [],
    "delete": ["a"],
    "embed": ["a"],
    "forget": ["--target", "gone"],
    "put": ["{}"],
    "requeue": ["a"],
    "recover": [],
    "retry": ["a", "--at", "2h"],
    "pause": ["--reason", "x"],
    "resume": ["--reason", "x"],
    "smoke": ["--yes"],
    "backfill": ["--yes", "--reason", "x"],
    "jobs pause": ["x"],
    "jobs resume": ["x"],
    "jobs cancel": ["x"],
    "migrate start": ["--yes", "--reason", "x"],
    "migrate switch": ["--yes", "--reason", "x"],
    "migrate rollback": [],
    "migrate finish": [],
}


def command_of(words: list[str]) -> click.Command:
    """Return a command by its words."""
    command: click.Command = command_line()
    for word in words:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    return command


def test_every_command_about_a_stack_changes_it_or_only_reads() -> None:
    """R40: none is forgotten by the two tests below."""
    about_a_stack = {
        " ".join(words)
        for words in all_commands()
        if any(option.name == "region" for option in command_of(words).params)
    }

    assert about_a_stack == READ_ONLY | set(CHANGING)


@pytest.mark.parametrize("command", CHANGING)
@pytest.mark.parametrize(
    ("stage", "place"),
    [
        (None, "the stack embedq-dev on this machine"),
        ("dev", "the stack embedq-dev in AWS, account 123456789012, region eu-west-1"),
    ],
)
def test_command_that_changes_something_first_names_the_stack(
    command: str,
    stage: str | None,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """R40: on stderr, before the first call to it."""
    arn = "arn:aws:cloudformation:eu-west-1:123456789012:stack/embedq-dev/1"
    nothing = Deployment({}, boto3.Session(region_name="eu-west-1"), None, stage, arn)
    monkeypatch.setattr(frame, "connect", lambda *_: nothing)

    # It ends at its first look at the outputs, as there are none.
    with contextlib.suppress(KeyError):
        main([*command.split(), *CHANGING[command]])

    assert capsys.readouterr().err.splitlines()[0] == f"This changes {place}."


# The console serves until Ctrl-C; tests/console has it.
@pytest.mark.parametrize("command", sorted(READ_ONLY - {"console"}))
def test_command_that_only_reads_says_nothing_of_the_kind(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: its answer is all there is."""
    nothing = Deployment({}, boto3.Session(region_name="eu-west-1"))
    monkeypatch.setattr(frame, "connect", lambda *_: nothing)

    with contextlib.suppress(KeyError):
        main([*command.split(), *(["x"] if command in ABOUT_ONE else [])])

    assert "This changes" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["dead", "x"], ["status"], ["search", "x", "--most", "many"]]
)
def test_wrong_arguments_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: with the usage on stderr and exit code 2."""
    assert main(arguments) == 2

    assert "Usage: embedq" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["stats"], ["put", "{}"], ["dead", "stop"]], ids=" ".join)
def test_yes_to_a_command_that_does_not_ask_is_explained(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: whoever writes a script knows what to leave out."""
    assert main([*command, "--yes"]) == 2

    assert "this command asks nothing: leave --yes out" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["status", "\udce9"], ["pause", "--reason", "\udce9"]])
def test_argument_that_is_not_utf8_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: of a terminal with another character set."""
    assert main(words) == 2

    assert r"'\udce9' is not UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "is_said"),
    [
        (["status", "-5"], True),
        (["dead", "list", "-dQw4"], True),
        (["stats", "-5"], False),
        (["status", "--nonsense", "a"], False),
    ],
)
def test_id_that_looks_like_an_option_is_explained(
    words: list[str], is_said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: with how it is written."""
    assert main(words) == 2

    said = f"An id or a word that begins with - comes last, after --: -- {words[-1]}"
    printed = capsys.readouterr().err
    assert (said in printed) is is_said
    assert "No such option" in printed


def test_empty_stage_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: `--stage "$STAGE"`, where the variable is not set."""
    assert main(["stats", "--stage", ""]) == 2

    assert capsys.readouterr().err == "embedq: --stage is empty: name a stage\n"


def test_aws_options_ask_for_a_stage(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: a forgotten --stage does not lead to the stack on this machine."""
    assert main(["stats", "--profile", "work"]) == 2

    assert "--profile and --region are for a stage in AWS" in capsys.readouterr().err


@pytest.mark.parametrize("group", [[], ["dead"]])
def test_group_alone_shows_its_help(group: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """R40: no error, and on stdout."""
    assert main(group) == 0

    assert "Usage: embedq" in capsys.readouterr().out


def test_help_documents_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: scripts depend on them."""
    main([])

    shown = capsys.readouterr().out
    for code in (output.OK, output.FAILED, output.WRONG_USE, output.INTERRUPTED):
        assert f"\n    {code} " in shown


def test_version_is_that_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: for a report of a defect."""
    assert main(["--version"]) == 0

    assert capsys.readouterr().out == f"embedq {__version__}\n"


@pytest.mark.parametrize(
    ("options", "printed"), [([], "the value is 1\n"), (["--json"], '{\n  "value": 1\n}\n')]
)
def test_answer_goes_to_stdout_and_talk_to_stderr(
    sample: Noun, capsys: pytest.CaptureFixture[str], options: list[str], printed: str
) -> None:
    """R40: what is piped is the data; the answer decides the exit code."""

    @sample.command(examples=["talk"])
    def talk() -> Sample:
        """Say something, then answer."""
        say("working [1/2]")
        return Sample(value=1)

    assert main(["talk", *options]) == 1

    assert capsys.readouterr() == (printed, "working [1/2]\n")


def test_many_answers_are_json_lines(sample: Noun, capsys: pytest.CaptureFixture[str]) -> None:
    """R40: each as soon as it is known."""

    @sample.command(examples=["many"])
    def many() -> Iterator[Sample]:
        """Answer twice."""
        yield Sample(value=1)
        yield Sample(value=2)

    assert main(["many", "--json"]) == 0

    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"value": 1},
        {"value": 2},
    ]


class Terminal(StringIO):
    """A terminal that keeps what is printed."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("no_color", "is_coloured"), [("", True), ("1", False)])
def test_no_color_switches_colours_off(
    monkeypatch: pytest.MonkeyPatch, no_color: str, is_coloured: bool
) -> None:
    """R40: https://no-color.org"""
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    output._terminal.cache_clear()

    class Coloured(Answer):
        def view(self) -> Iterable[Text]:
            return [Text("red", style="red")]

    output.show(Coloured(), as_json=False)

    assert ("\x1b[31m" in terminal.getvalue(), "red" in terminal.getvalue()) == (is_coloured, True)
    output._terminal.cache_clear()


def test_failure_is_one_line(sample: Noun, capsys: pytest.CaptureFixture[str]) -> None:
    """R40: no stack trace for what an operator can act on."""
    raising(sample, CommandError("the index is full"))

    assert main(["sample"]) == 1

    assert capsys.readouterr() == ("", "embedq: the index is full\n")


def test_error_of_an_aws_call_is_one_line(
    deployment: Deployment, sample: Noun, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: whichever command makes the call."""

    @sample.command(examples=["call"])
    def call() -> Answer:
        """Ask for a table that is not there."""
        deployment.client("dynamodb").describe_table(TableName="missing")
        raise AssertionError

    assert main(["call"]) == 1

    error = capsys.readouterr().err
    assert error.startswith("embedq: a call to the stack failed: An error occurred")
    assert error.count("\n") == 1


def test_ctrl_c_leaves_no_stack_trace(sample: Noun, capsys: pytest.CaptureFixture[str]) -> None:
    """R40: and the exit code that a shell expects."""
    raising(sample, KeyboardInterrupt())

    assert main(["sample"]) == 130

    assert capsys.readouterr().err.strip() == ""


def test_reader_that_has_seen_enough_is_no_error(
    sample: Noun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R40: `embedq logs | head`."""
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(sys, "stdout", os.fdopen(writer, "w"))

    @sample.command(examples=["sample"], name="sample")
    def answers() -> Iterator[Answer]:
        """Answer with two lines."""
        yield from (Sample(value=1), Sample(value=2))

    assert main(["sample"]) == 0


def test_ctrl_c_while_the_commands_are_loaded_leaves_no_stack_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R40: they take half a second to load."""

    class Interrupted:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "ops.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "ops.cli")
    monkeypatch.delattr("ops.cli")
    monkeypatch.setattr(sys, "meta_path", [Interrupted, *sys.meta_path])

    assert program.main() == output.INTERRUPTED == program.INTERRUPTED


def test_defect_keeps_its_stack_trace(sample: Noun) -> None:
    """R40: an error that is no operator's mistake is reported whole."""
    raising(sample, ZeroDivisionError())

    with pytest.raises(ZeroDivisionError):
        main(["sample"])


def asking(noun: Noun) -> None:
    """Add a command `ask` that asks before it answers."""

    @noun.command(click.Option(["--yes"], is_flag=True), examples=["ask"])
    def ask(*, yes: bool) -> Sample:
        """Ask."""
        confirm("Send 7 documents?", yes=yes)
        return Sample(value=0)


def test_without_a_terminal_no_question_is_asked(
    sample: Noun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: the message names --yes, which answers it."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))
    asking(sample)

    assert main(["ask"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["ask", "--yes"]) == 0


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 130)])
def test_question_on_a_terminal_is_answered_there(
    sample: Noun, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    """R40: no is an end, not an error with a stack trace."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda *_: typed.strip())
    asking(sample)

    assert main(["ask"]) == code


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_what_a_shell_runs(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: it asks the command itself."""
    assert main(["completion", shell]) == 0

    assert f"_EMBEDQ_COMPLETE={shell}_complete" in capsys.readouterr().out


def run(*arguments: str, code: str = "", **environment: str) -> Any:
    """Run the command in a process of its own."""
    program = ["-c", code] if code else ["-m", "ops"]
    return subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_tab_completes_commands_and_options() -> None:
    """R40: as the shell asks for it."""
    words = {"_EMBEDQ_COMPLETE": "bash_complete", "COMP_WORDS": "embedq st", "COMP_CWORD": "1"}

    assert run(**words).stdout.split() == ["plain,stats", "plain,status", "plain,stuck"]


def test_help_loads_no_aws_client() -> None:
    """R40: help and completion are fast."""
    code = "import sys, ops.cli; ops.cli.main(['--help']); print(sorted(sys.modules))"

    modules = run(code=code).stdout.splitlines()[-1]

    assert "'click'" in modules
    assert [name for name in ("boto3", "openai", "rich", "local") if f"'{name}'" in modules] == []


def test_command_for_aws_never_loads_the_local_stack() -> None:
    """R40: what operates production holds nothing of one-machine mode."""
    code = (
        "import sys, ops.cli; print(ops.cli.main(['stats', '--stage', 'x', '--profile', 'none']));"
        "print(sorted(sys.modules))"
    )

    ended = run(code=code, AWS_CONFIG_FILE=os.devnull, AWS_SHARED_CREDENTIALS_FILE=os.devnull)

    *_, exit_code, modules = ended.stdout.splitlines()
    assert ended.stderr == "embedq: The config profile (none) could not be found\n"
    assert exit_code == "2"
    assert "'boto3'" in modules
    assert "'local'" not in modules
