"""The model server as a program: starts, writes its port, and ends when it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import openai
import pytest

from local.provider.__main__ import main
from local.provider.server import ModelServer
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[4]
LIMIT_SECONDS = 20
COMMAND = [sys.executable, "-m", "local.provider"]


@contextmanager
def killed_at_end(pid: int) -> Iterator[None]:
    """Leave no process behind, also when a test fails."""
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_program_answers_at_the_port_it_wrote_and_ends_cleanly(
    tmp_path: Path, end: signal.Signals
) -> None:
    """R82: no process is left behind, and no trace of an error."""
    port_file = tmp_path / "port"
    command = [*COMMAND, "--port-file", str(port_file), "--key", "k"]
    with (
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
        killed_at_end(process.pid),
    ):
        until(port_file.exists, "it says its port")
        url = f"http://127.0.0.1:{int(port_file.read_text())}/v1"
        with openai.OpenAI(base_url=url, api_key="k") as client:
            response = client.embeddings.create(model="m", input="text", dimensions=8)
            process.send_signal(end)
            output, errors = process.communicate(timeout=LIMIT_SECONDS)

    assert len(response.data) == 1
    assert (process.returncode, errors) == (0, "")
    assert output == f"Model server (hashed) listens on {url}\n"


def test_port_in_use_is_reported_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """R82: exit code 1 and no stack."""
    with ModelServer() as server:
        assert main(["--port", str(server.port)]) == 1

    assert capsys.readouterr().err.startswith("The model server cannot start: ")


def test_missing_weights_are_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R82: exit code 1 and no stack."""
    assert main(["--vectors", "minilm", "--weights", str(tmp_path)]) == 1
    assert "model.safetensors" in capsys.readouterr().err


def test_help_names_every_kind_of_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """R82: the help is enough to plan a fault."""
    with pytest.raises(SystemExit):
        main(["--help"])

    help_text = capsys.readouterr().out
    assert "curl -X PUT" in help_text
    assert "wrong_dimensions" in help_text


def test_limit_below_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """R82: argparse says which option is wrong."""
    with pytest.raises(SystemExit):
        main(["--tokens-per-minute", "0"])

    assert "--tokens-per-minute: 0 is not at least 1" in capsys.readouterr().err


def test_unknown_vectors_are_refused() -> None:
    """R82: also where the server is made in Python."""
    with pytest.raises(ValueError, match="'glove' is not one of hashed, minilm"):
        ModelServer("glove")
