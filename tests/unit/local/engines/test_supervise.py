"""An engine ends with its owner, whoever is killed and however; tried on small real processes."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from local.engines.errors import EngineStartError
from local.engines.places import Place
from local.engines.records import ProcessId, wait_for
from local.engines.supervise import EngineProcess, Job

LIMIT_SECONDS = 20.0
is_root = os.geteuid() == 0


@dataclass
class Family:
    """An owner, its watcher, its engine and what the engine started."""

    owner: "subprocess.Popen[str]"
    watcher: ProcessId
    engine: ProcessId
    grandchild: ProcessId

    def is_gone(self) -> bool:
        """Tell whether nothing is left but perhaps the owner."""
        return not any(p.is_alive() for p in (self.watcher, self.engine, self.grandchild))


@contextmanager
def family(mode: str = "plain") -> Iterator[Family]:
    """Start an owner with its engine; whatever a failed test leaves is killed."""
    with tempfile.TemporaryDirectory() as name:
        # The engine's user must be able to enter.
        Path(name).chmod(0o755)
        module = "tests.unit.local.engines.owner"
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


def stop_by_word(them: Family) -> None:
    """Let the owner stop its engine in order."""
    assert them.owner.stdin is not None
    them.owner.stdin.close()
    assert them.owner.wait(LIMIT_SECONDS) == 0


def kill_owner(them: Family) -> None:
    """Kill the owner, who can do nothing more."""
    them.owner.kill()
    them.owner.wait(LIMIT_SECONDS)


def kill_watcher(them: Family) -> None:
    """Kill the watcher, so that only the kernel can end the engine."""
    os.kill(them.watcher.pid, signal.SIGKILL)


def terminate_watcher(them: Family) -> None:
    """Ask the watcher itself to end."""
    os.kill(them.watcher.pid, signal.SIGTERM)


def press_ctrl_c(them: Family) -> None:
    """Do what a terminal does: interrupt the whole process group of the owner."""
    assert them.owner.stdout is not None
    os.killpg(them.owner.pid, signal.SIGINT)
    assert them.owner.stdout.readline() == "interrupted\n"
    assert them.owner.wait(LIMIT_SECONDS) == 0


@pytest.mark.parametrize("end", [stop_by_word, kill_owner, terminate_watcher, press_ctrl_c])
def test_nothing_is_left(end: Callable[[Family], None]) -> None:
    """R82: stop leaves no process behind, also after SIGKILL of the parent or Ctrl-C."""
    with family() as them:
        assert not them.is_gone()

        end(them)

        assert wait_for(them.is_gone, LIMIT_SECONDS)


def test_ctrl_c_at_the_terminal_reaches_the_owner_alone() -> None:
    """R82: engines get their own session, so that the owner stops them in its own order."""
    with family() as them:
        sessions = {os.getsid(p) for p in (them.owner.pid, them.watcher.pid, them.engine.pid)}

    assert len(sessions) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
@pytest.mark.parametrize(
    "mode",
    [
        "plain",
        pytest.param("as-nobody", marks=pytest.mark.skipif(not is_root, reason="needs root")),
    ],
)
def test_the_engine_ends_with_its_watcher(mode: str) -> None:
    """R82: also a killed watcher leaves no engine, whatever user that runs as."""
    with family(mode) as them:
        kill_watcher(them)

        assert wait_for(lambda: not them.engine.is_alive(), LIMIT_SECONDS)


@pytest.mark.skipif(not is_root, reason="needs root")
def test_an_engine_of_another_user_ends_with_its_owner() -> None:
    """R82: root runs OpenSearch as nobody, and a killed root leaves no OpenSearch."""
    with family("as-nobody") as them:
        assert Path(f"/proc/{them.engine.pid}").stat().st_uid == 65534

        kill_owner(them)

        assert wait_for(them.is_gone, LIMIT_SECONDS)


def test_a_forked_child_of_the_owner_keeps_no_engine_alive() -> None:
    """R82: the pipe to the watcher may live on in a forked child; the owner is still gone."""
    with family("with-forked-child") as them:
        kill_owner(them)

        assert wait_for(them.is_gone, LIMIT_SECONDS)


def make_place(folder: Path, *, remove_at_end: bool = False) -> Place:
    """Make a place with its data in a folder of its own."""
    data = folder / "data"
    data.mkdir()
    (folder / "log").touch()
    return Place(data, folder / "log", remove_at_end)


def test_an_engine_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    """R82: SIGTERM first, SIGKILL after the grace."""
    deaf = "import signal; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); input_ = 0"
    command = (sys.executable, "-c", f"{deaf}\nwhile True: signal.pause()")
    place = make_place(tmp_path)
    engine = EngineProcess(Job("deaf", command, place, grace_seconds=0.2))
    assert wait_for(lambda: "deaf" in place.log.read_text(), LIMIT_SECONDS)
    process = ProcessId.of(engine.pid)

    engine.stop()

    assert not process.is_alive()


def test_an_engine_that_ended_by_itself_is_noticed(tmp_path: Path) -> None:
    """R82: whoever waits for an engine learns of its death."""
    engine = EngineProcess(Job("short", ("/bin/sh", "-c", "exit 3"), make_place(tmp_path)))

    assert wait_for(engine.ended, LIMIT_SECONDS)
    engine.stop()


def test_a_program_that_cannot_run_is_one_clear_error(tmp_path: Path) -> None:
    """R82: the message holds the reason."""
    with pytest.raises(EngineStartError, match=r"(?s)broken could not be run.*No such file"):
        EngineProcess(Job("broken", ("/does/not/exist",), make_place(tmp_path)))


def test_data_in_memory_goes_with_the_engine(tmp_path: Path) -> None:
    """R82: an engine in memory leaves nothing there."""
    place = make_place(tmp_path, remove_at_end=True)
    engine = EngineProcess(Job("engine", ("/bin/sleep", "600"), place))

    engine.stop()

    assert not place.data.exists()
    assert place.log.exists()
