"""Stacks in the background: started one at a time, and ended before they are ready."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from functions.index_setup.ensure import MisfitError
from local import background, daemon
from local.engines.errors import EnginesRunningError
from local.engines.records import Record
from local.files import write_json
from local.processes import ProcessId
from local.resources import ResourceError
from local.stages import STANDARD


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Bring back the signal handlers and the umask that the daemon replaces."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    umask = os.umask(0o022)
    yield
    os.umask(umask)
    for number, handler in before.items():
        signal.signal(number, handler)


def test_second_up_waits_for_the_first_and_finds_its_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R82: two at once neither share a log nor start two stacks."""
    monkeypatch.setattr(background, "FOLDER", tmp_path)
    said: list[str] = []
    waits = threading.Event()

    def say(text: str) -> None:
        said.append(text)
        waits.set()

    found: list[background.Running] = []
    second = threading.Thread(target=lambda: found.append(background.up(say, tmp_path)))
    with FileLock(background.FOLDER / background.LOCK):
        second.start()
        assert waits.wait(30)
        me = ProcessId.of(os.getpid())
        (tmp_path / background.ENGINES).mkdir()
        Record(me, me).write(tmp_path / background.ENGINES)
        state = {"endpoint_url": "http://localhost:1", "model_origin": "http://localhost:2"}
        write_json(tmp_path / background.STATE, state)
    second.join(30)

    assert found == [background.Running(**state)]
    assert said == ["another `embedq up` is starting a stack: waiting for it"]


def run_daemon(folder: Path, monkeypatch: pytest.MonkeyPatch, *, start: object) -> int:
    """Run the daemon with another way to start the stack."""
    monkeypatch.setattr(daemon, "local_stack", start)
    monkeypatch.setattr(
        sys, "argv", ["daemon", str(folder), "hashed", str(STANDARD.file), STANDARD.name]
    )
    return daemon.main()


def test_stack_that_cannot_start_is_reported_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R82: `up` shows what the daemon prints."""

    @contextmanager
    def claimed(*_: object, **__: object) -> Iterator[None]:
        raise EnginesRunningError("Engines already run")
        yield

    assert run_daemon(tmp_path, monkeypatch, start=claimed) == 1

    assert capsys.readouterr().out == "Engines already run\n"


@pytest.mark.parametrize("error", [ResourceError, MisfitError])
def test_data_that_does_not_fit_the_stage_any_more_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: type[Exception],
) -> None:
    """R82: with the folder to remove."""

    @contextmanager
    def changed(*_: object, **__: object) -> Iterator[None]:
        raise error("table articles has another key")
        yield

    assert run_daemon(tmp_path, monkeypatch, start=changed) == 1

    assert capsys.readouterr().out == (
        f"table articles has another key. To start without the old documents, remove {tmp_path}\n"
    )


def test_ctrl_c_does_not_wait_for_engines_that_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R82: the start is left at once, and cleans up; a second signal does not disturb that."""
    steps: list[str] = []

    @contextmanager
    def slow(*_: object, **__: object) -> Iterator[None]:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("engines are ready")
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("engines are stopped")
        yield

    with pytest.raises(SystemExit):
        run_daemon(tmp_path, monkeypatch, start=slow)

    assert steps == ["engines are stopped"]
