"""A child process ends with its owner, whichever is killed; tried on small real processes."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.processes import Processes, ProcessId, ProcessStartError, Program, wait_for

LIMIT_SECONDS = 20.0
is_root = os.geteuid() == 0


@dataclass
class Family:
    """An owner, its supervisor, its child and what the child started."""

    owner: "subprocess.Popen[str]"
    supervisor: ProcessId
    child: ProcessId
    grandchild: ProcessId

    def is_gone(self) -> bool:
        """Return whether nothing is left but perhaps the owner."""
        return not any(p.is_alive() for p in (self.supervisor, self.child, self.grandchild))


@contextmanager
def family(mode: str = "plain") -> Iterator[Family]:
    """Start an owner with its child; whatever a failed test leaves is killed."""
    with tempfile.TemporaryDirectory() as name:
        # The child's user must be able to enter.
        Path(name).chmod(0o755)
        module = "tests.unit.local.processes.owner"
        owner = subprocess.Popen(
            [sys.executable, "-m", module, name, mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with owner:
            assert owner.stdout is not None
            *told, holder = map(int, owner.stdout.readline().split())
            members = [ProcessId.of(pid) for pid in told]
            left = [ProcessId.of(holder)] if holder else []
            try:
                yield Family(owner, *members)
            finally:
                for process in (*members, *left):
                    if process.is_alive():
                        os.kill(process.pid, signal.SIGKILL)
                owner.kill()


def stop_in_order(them: Family) -> None:
    """Let the owner stop its child in order."""
    assert them.owner.stdin is not None
    them.owner.stdin.close()
    assert them.owner.wait(LIMIT_SECONDS) == 0


def kill_owner(them: Family) -> None:
    """Kill the owner, who can do nothing more."""
    them.owner.kill()
    them.owner.wait(LIMIT_SECONDS)


def kill_supervisor(them: Family) -> None:
    """Kill the supervisor, so that only the kernel can end the child."""
    os.kill(them.supervisor.pid, signal.SIGKILL)


def terminate_supervisor(them: Family) -> None:
    """Ask the supervisor itself to end."""
    os.kill(them.supervisor.pid, signal.SIGTERM)


def press_ctrl_c(them: Family) -> None:
    """Do what a terminal does: interrupt the whole process group of the owner."""
    assert them.owner.stdout is not None
    os.killpg(them.owner.pid, signal.SIGINT)
    assert them.owner.stdout.readline() == "interrupted\n"
    assert them.owner.wait(LIMIT_SECONDS) == 0


@pytest.mark.parametrize("end", [stop_in_order, kill_owner, terminate_supervisor, press_ctrl_c])
def test_nothing_is_left(end: Callable[[Family], None]) -> None:
    """R82: stop leaves no process behind, also after SIGKILL of the parent or Ctrl-C."""
    with family() as them:
        assert not them.is_gone()

        end(them)

        assert wait_for(them.is_gone, LIMIT_SECONDS)


def test_ctrl_c_at_the_terminal_reaches_the_owner_alone() -> None:
    """R82: children get their own session, so that the owner stops them in its own order."""
    with family() as them:
        sessions = {os.getsid(p) for p in (them.owner.pid, them.supervisor.pid, them.child.pid)}

    assert len(sessions) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
@pytest.mark.parametrize(
    "mode",
    [
        "plain",
        pytest.param("as-nobody", marks=pytest.mark.skipif(not is_root, reason="needs root")),
    ],
)
def test_a_child_ends_with_its_supervisor(mode: str) -> None:
    """R82: also a killed supervisor leaves no child, whatever user that runs as."""
    with family(mode) as them:
        kill_supervisor(them)

        assert wait_for(lambda: not them.child.is_alive(), LIMIT_SECONDS)


@pytest.mark.skipif(not is_root, reason="needs root")
def test_a_child_of_another_user_ends_with_its_owner() -> None:
    """R82: root runs OpenSearch as nobody, and a killed root leaves no OpenSearch."""
    with family("as-nobody") as them:
        assert Path(f"/proc/{them.child.pid}").stat().st_uid == 65534

        kill_owner(them)

        assert wait_for(them.is_gone, LIMIT_SECONDS)


def test_a_forked_child_of_the_owner_keeps_no_process_alive() -> None:
    """R82: the pipe to the supervisor may live on in a forked child; the owner is still gone."""
    with family("with-forked-child") as them:
        kill_owner(them)

        assert wait_for(them.is_gone, LIMIT_SECONDS)


@pytest.fixture
def processes() -> Iterator[Processes]:
    """Return the processes of this test, ended at its end."""
    with Processes() as processes:
        yield processes


def make_program(folder: Path, *command: str, **options: Any) -> Program:
    """Describe a program with its log in a folder."""
    return Program(command, folder, {}, folder / "log", **options)


def test_a_child_that_ignores_sigterm_is_killed(processes: Processes, tmp_path: Path) -> None:
    """R82: SIGTERM first, SIGKILL after the grace."""
    deaf = "import signal; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); input_ = 0"
    command = (sys.executable, "-c", f"{deaf}\nwhile True: signal.pause()")
    program = make_program(tmp_path, *command, grace_seconds=0.2)
    ends: list[int] = []
    child = processes.start(program, ends.append)
    assert wait_for(lambda: "deaf" in program.log.read_text(), LIMIT_SECONDS)
    process = ProcessId.of(child.pid)

    child.stop()

    assert child.wait(LIMIT_SECONDS)
    assert not process.is_alive()
    assert ends == [-signal.SIGKILL]


def test_a_child_with_a_grace_ends_by_sigterm(processes: Processes, tmp_path: Path) -> None:
    """R82: an engine has the time to close its files."""
    ends: list[int] = []
    program = make_program(tmp_path, "/bin/sleep", "600", grace_seconds=2 * LIMIT_SECONDS)
    child = processes.start(program, ends.append)

    child.stop()

    assert child.wait(LIMIT_SECONDS)
    assert ends == [-signal.SIGTERM]


def test_a_child_that_ended_by_itself_is_noticed(processes: Processes, tmp_path: Path) -> None:
    """R82: the owner learns of the end and of its exit code."""
    ends: list[int] = []
    child = processes.start(make_program(tmp_path, "/bin/sh", "-c", "exit 3"), ends.append)

    assert child.wait(LIMIT_SECONDS)
    assert ends == [3]
    assert child.has_ended


def test_a_program_that_cannot_run_is_one_clear_error(processes: Processes, tmp_path: Path) -> None:
    """R82: the message holds the reason."""
    with pytest.raises(ProcessStartError, match=r"/does/not/exist could not be run.*No such file"):
        processes.start(make_program(tmp_path, "/does/not/exist"))


def test_a_folder_goes_with_its_child(tmp_path: Path) -> None:
    """R82: an engine in memory leaves nothing there."""
    data = tmp_path / "data"
    data.mkdir()
    program = make_program(tmp_path, "/bin/sleep", "600", remove=data)
    with Processes() as processes:
        processes.start(program)

    assert not data.exists()
    assert program.log.exists()
