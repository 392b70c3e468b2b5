"""The commands of the stack on this machine, without starting one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from local import background
from local import stages as stages_module
from local.engines import ports
from local.stages import STANDARD
from ops.cli import main
from ops.stack import Demo, up

RUNNING = background.Running("http://localhost:1", "http://localhost:2")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a stack that runs, as far as the files say."""
    monkeypatch.setattr(background, "find_any", lambda: (tmp_path, RUNNING))
    return tmp_path


@pytest.fixture
def logs(folder: Path) -> Path:
    """Return the folder of the functions' logs, with those of two functions."""
    path = folder / "runner" / "logs"
    path.mkdir(parents=True)
    at = {"timestamp": "2026-11-17 02:05:43,329+0000", "service": "embed"}
    lines = [{"message": "task_started", **at, "document_id": "a", "version": 7}, {"_aws": {}}]
    (path / "embed.log").write_text("\n".join([*map(json.dumps, lines), "Traceback", ""]))
    (path / "sweep.log").write_text("swept\n")
    return path


@pytest.mark.usefixtures("folder")
def test_up_names_what_an_aws_client_needs() -> None:
    """R40 R81: both names of the region, as clients know one or the other."""
    assert up(None, hashed=False, port=None).environment == {
        "AWS_ENDPOINT_URL": "http://localhost:1",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
    }


STARTED = "2026-11-17 02:05:43.329 embed task_started document_id=a version=7"


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ([], ["swept", STARTED, "Traceback"]),
        (["sweep"], ["swept"]),
        (["--document", "a"], [STARTED]),
        (["--document", "b"], []),
        (["--since", "2026-11-17T02:05"], [STARTED, "Traceback"]),
        (["--since", "2026-11-17T02:06"], []),
        (["embed", "--metrics"], [STARTED, '{"_aws": {}}', "Traceback"]),
    ],
)
@pytest.mark.usefixtures("logs")
def test_logs_are_printed_by_time(
    options: list[str], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """R40 R63: of all functions, or of some; since a time, about a document."""
    assert main(["logs", *options]) == 0

    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.usefixtures("logs")
def test_logs_as_json_name_their_function(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: a line that is JSON is an object, any other a text."""
    assert main(["logs", "embed", "--json"]) == 0

    [first, second] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (first["function"], first["line"]["document_id"]) == ("embed", "a")
    assert (second["line"], second["at"]) == ("Traceback", "2026-11-17T02:05:43.329000Z")


@pytest.mark.usefixtures("folder")
def test_environment_can_be_evaluated_by_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: and nothing else is on stdout."""
    assert main(["env"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "export AWS_ENDPOINT_URL=http://localhost:1",
        "export AWS_REGION=us-east-1",
        "export AWS_DEFAULT_REGION=us-east-1",
        "export AWS_ACCESS_KEY_ID=local",
        "export AWS_SECRET_ACCESS_KEY=local",
    ]


@pytest.mark.usefixtures("logs")
def test_function_without_a_log_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: one sentence and exit code 2."""
    assert main(["logs", "nonsense"]) == 2

    assert "no function with 'nonsense' in its name has logged" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_what_up_prints_can_be_pasted_into_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: and how the stack is stopped."""
    assert main(["up"]) == 0

    first, *lines = capsys.readouterr().out.splitlines()
    assert "`embedq down`" in first
    assert lines[0] == "  export AWS_ENDPOINT_URL=http://localhost:1"


@pytest.mark.parametrize(("ran", "is_kept"), [("stage-mine", True), ("demo", False)])
def test_down_says_what_it_stops_and_whether_documents_are_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, ran: str, is_kept: bool
) -> None:
    """R82: those of the demo are not."""
    folder = background.FOLDER / ran
    monkeypatch.setattr(background, "folders", lambda: [folder])
    running = replace(RUNNING, stage="mine", stack="embedq-mine")
    monkeypatch.setattr(background, "find", lambda _: running)
    monkeypatch.setattr(background, "down", lambda _: True)

    assert main(["down"]) == 0

    shown = capsys.readouterr()
    assert shown.err == "stopping the stack embedq-mine on this machine\n"
    assert shown.out.startswith("The stack is stopped.")
    assert ("kept for the next `embedq up mine`" in shown.out) is is_kept


@pytest.mark.parametrize(
    ("last_line", "has_state", "end"),
    [
        ("ended by itself: OpenSearch, and with it the whole stack", False, "the last one ended"),
        ("1 of 1 dead letters made again", True, "the last one was killed: see "),
        ("1 of 1 dead letters made again", False, ""),
    ],
)
def test_stack_that_nobody_has_stopped_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    last_line: str,
    has_state: bool,
    end: str,
) -> None:
    """R82: with the log that says more; one that was stopped leaves nothing to say."""
    monkeypatch.setattr(background, "FOLDER", tmp_path)
    folder = tmp_path / "standard"
    folder.mkdir()
    (folder / background.LOG).write_text(f"ready\n{last_line}\n")
    if has_state:
        (folder / background.STATE).write_text("{}")

    assert [main(["stats"]), main(["env"]), main(["break", "index"])] == [2, 2, 2]

    for line in capsys.readouterr().err.splitlines():
        begin, _, said = line.partition("; ")
        assert begin.startswith("embedq: no stack runs here")
        assert said.startswith(end)
        assert said.endswith(str(folder / background.LOG) if end else "")
        assert bool(said) is bool(end)


@pytest.mark.usefixtures("folder")
def test_hashed_stack_is_not_started_beside_another(capsys: pytest.CaptureFixture[str]) -> None:
    """R81: the stack that runs is not said to have hashed vectors."""
    assert main(["up", "--hashed"]) == 2

    assert "first `embedq down`" in capsys.readouterr().err


def test_demo_does_not_empty_a_stack_that_is_starting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R81: it has no address yet, and is found by its lock."""
    monkeypatch.setattr(background, "folders", list)
    monkeypatch.setattr(background, "FOLDER", tmp_path)

    with FileLock(background.FOLDER / background.LOCK):
        assert main(["demo"]) == 2

    assert "a stack runs or starts here" in capsys.readouterr().err
    assert not background.is_starting()


@pytest.mark.usefixtures("folder")
def test_demo_needs_an_empty_stack(capsys: pytest.CaptureFixture[str]) -> None:
    """R81: it never writes into a stack that is in use."""
    assert main(["demo"]) == 2

    assert "first `embedq down`" in capsys.readouterr().err


def test_demo_that_is_kept_removes_documents_only_when_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40 R81: it runs in the folder of `embedq up`; the ports stay."""
    monkeypatch.setattr(background, "FOLDER", tmp_path)
    kept = background.folder_of(STANDARD, "minilm")
    (kept / background.ENGINES).mkdir(parents=True)
    (kept / ports.FILE).write_text("{}")
    used: list[Path] = []

    def start(_: object, folder: Path, **__: Any) -> background.Running:
        used.append(folder)
        raise background.NotStartedError("no engines in this test")

    monkeypatch.setattr(background, "up", start)

    assert main(["demo", "--keep"]) == 2
    assert "There is no terminal to ask on: answer with --yes" in capsys.readouterr().err
    assert (kept / background.ENGINES).exists()
    assert main(["demo", "--keep", "--yes"]) == 1
    assert main(["demo"]) == 1

    assert used == [kept, tmp_path / "demo"]
    assert [path.name for path in kept.iterdir()] == [ports.FILE]


def test_demo_in_memory_cannot_be_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: refused, instead of ignored."""
    assert main(["demo", "--engines", "memory", "--keep"]) == 2

    assert "leave out --engines memory or --keep" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_stack_that_runs_at_another_port_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: and found at its own one."""
    assert main(["up", "--port", "4566"]) == 2
    assert "a stack at http://localhost:1 runs here already" in capsys.readouterr().err

    assert main(["up", "--port", "1"]) == 0


def test_full_disk_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: no stack trace for what the system refuses."""

    def full(*_: object, **__: object) -> background.Running:
        raise OSError(28, "No space left on device", "/here/.local/up.log")

    monkeypatch.setattr(background, "find_any", lambda: None)
    monkeypatch.setattr(background, "up", full)

    assert main(["up"]) == 1

    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "embedq: No space left on device: /here/.local/up.log"


def test_demo_in_memory_shows_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    """R81: with --json the steps go to stderr, and the outcome to stdout."""
    assert main(["demo", "--engines", "memory", "--json"]) == 0

    printed = capsys.readouterr()
    assert json.loads(printed.out)["error"] is None
    assert [line[:2] for line in printed.err.splitlines() if line[:1].isdigit()] == [
        f"{number}." for number in range(1, 9)
    ]


def test_demo_that_stops_is_a_failure() -> None:
    """R81: a newcomer's script notices."""
    assert Demo(error="no search", seconds=1, next="").exit_code == 1


@pytest.fixture
def cdk_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the checkout's cdk.json have the stages mine and broken."""
    stages = {"mine": STANDARD.read(), "broken": {"colour": 1}}
    (tmp_path / "cdk.json").write_text(json.dumps({"context": {"stages": stages}}))
    monkeypatch.setattr(stages_module, "CHECKOUT", tmp_path)


@pytest.mark.parametrize("command", ["up", "demo"])
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("mien", '"mien" is no stage of this file: one of mine, broken; did you mean mine?'),
        ("broken", "broken.colour: unknown key"),
    ],
)
@pytest.mark.usefixtures("cdk_json")
def test_stage_that_cannot_be_run_is_refused_before_anything_starts(
    command: str, name: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: exit code 2, with the stages there are or the mistakes of this one."""
    assert main([command, name]) == 2

    error = capsys.readouterr().err
    assert error.startswith("embedq: cdk.json: stages")
    assert line in error


@pytest.mark.usefixtures("folder", "cdk_json")
def test_stack_that_runs_does_not_pass_for_another_stage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """R82: what was asked for is not what runs."""
    assert main(["up", "mine"]) == 2

    assert "the standard stage runs here already: first `embedq down`" in capsys.readouterr().err


@pytest.mark.usefixtures("cdk_json")
def test_own_stage_that_runs_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R82: by its name, and as what runs."""
    running = replace(RUNNING, stage="mine", stack="embedq-mine")
    monkeypatch.setattr(background, "find_any", lambda: (tmp_path, running))

    assert (main(["up", "mine"]), main(["up"])) == (0, 0)

    assert capsys.readouterr().out.count("The stack embedq-mine runs until") == 2


@pytest.mark.usefixtures("cdk_json")
def test_own_stage_is_started_in_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R82: its documents never meet those of another stage, and the first line names it."""
    started: list[tuple[str, str]] = []

    def start(_: object, folder: Path, **chosen: Any) -> background.Running:
        started.append((folder.name, chosen["stage"].name))
        return RUNNING

    monkeypatch.setattr(background, "find_any", lambda: None)
    monkeypatch.setattr(background, "up", start)

    for options in ([], ["mine"], ["mine", "--hashed"]):
        assert main(["up", *options]) == 0

    assert started == [("standard", "local"), ("stage-mine", "mine"), ("stage-mine.hashed", "mine")]
    assert "starting the stack embedq-mine on this machine\n" in capsys.readouterr().err


@pytest.mark.usefixtures("cdk_json")
def test_own_stage_has_no_demo_in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """R81: one line says what to do."""
    assert main(["demo", "mine", "--engines", "memory"]) == 2

    assert "stage mine runs on the real engines only" in capsys.readouterr().err
