"""Setup is run whole on a fake checkout whose uv, node and Python need no network."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.setup import VERSION, Checkout, SetupError, locked_lines, main, uv_environment
from tests.repo.checkout import ROOT

LOCK = "uv==1 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via -r dev.in\nzlib==2 \\\n"

# Answers as a Python 3.8 would: --version, and -c with that version in sys.
OLD_PYTHON = f"""[ "$1" = --version ] && echo "Python 3.8.18" && exit
exec "{sys.executable}" -c 'import sys; sys.version_info = (3, 8, 18); exec(sys.argv[1])' "$2"
"""


def program(path: Path, text: str) -> None:
    """Write a small shell program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Return a checkout with an environment that only has to be filled."""
    found = Checkout(tmp_path)
    (tmp_path / "requirements").mkdir()
    for lock in found.locks:
        lock.write_text(LOCK)
    (tmp_path / "package-lock.json").write_text("{}")
    # The second argument is the code that asks for the version, or the module that fetches.
    log = tmp_path / "python.log"
    program(found.python, f'echo "{VERSION} {found.venv}"; echo "$2" >> "{log}"')
    program(found.uv, "echo synced >> uv.log")
    program(found.node, f'mkdir -p "{found.cdk.parent}" && touch "{found.cdk}"')
    return found


def syncs(checkout: Checkout) -> int:
    """Return how often the packages were installed."""
    log = checkout.root / "uv.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_setup_fills_the_checkout_once(checkout: Checkout) -> None:
    """Newcomer: the first run installs, the second has nothing to do."""
    codes = [main(checkout.root), main(checkout.root)]

    assert (codes, syncs(checkout)) == ([0, 0], 1)
    assert checkout.cdk.is_file()
    assert str(checkout.node) in (checkout.packages / "embedq_node.pth").read_text()


def test_engines_are_fetched_also_when_the_checkout_is_filled(checkout: Checkout) -> None:
    """R82: an emptied cache is filled before a test needs it."""
    main(checkout.root)
    main(checkout.root)

    asked = (checkout.root / "python.log").read_text().splitlines()
    assert asked.count("local.engines") == 2


def test_engines_out_of_reach_leave_the_rest_usable(
    checkout: Checkout, capfd: pytest.CaptureFixture[str]
) -> None:
    """R82: memory engines, checks and synth need no download."""
    program(checkout.python, f'[ "$1" != -m ] && echo "{VERSION} {checkout.venv}"')

    assert main(checkout.root) == 0

    assert "without the engines, tests on them are skipped" in capfd.readouterr().out
    assert checkout.stamp.exists()


@pytest.mark.parametrize("name", ["requirements/dev.txt", "package-lock.json"])
def test_a_changed_lock_installs_again(checkout: Checkout, name: str) -> None:
    """Newcomer: after a pull the next make command brings what is new."""
    main(checkout.root)
    with (checkout.root / name).open("a") as file:
        file.write("\n")
    main(checkout.root)

    assert syncs(checkout) == 2


def test_a_failed_step_says_what_to_do_and_is_tried_again(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """Newcomer: an unreachable package index gives one sentence, and no half-made state counts."""
    program(checkout.uv, "exit 3")

    assert [main(checkout.root), main(checkout.root)] == [1, 1]

    assert "`uv pip sync` failed with code 3" in capsys.readouterr().err
    assert not checkout.stamp.exists()


def test_an_environment_of_another_python_or_folder_is_replaced(checkout: Checkout) -> None:
    """Newcomer: a moved checkout or a newer Python gets a new environment."""
    program(checkout.python, f'echo "{VERSION} /elsewhere/.venv"')
    # The new environment is real and its pip finds no package called uv with such a hash.
    (checkout.root / "requirements/dev.txt").write_text("")

    assert main(checkout.root) == 1

    assert (checkout.venv / "pyvenv.cfg").is_file()


def test_one_package_is_cut_out_of_the_lock_with_its_hashes() -> None:
    """Newcomer: uv itself is installed by hash too."""
    assert locked_lines("uv", LOCK).split() == [
        "uv==1",
        "\\",
        "--hash=sha256:aa",
        "\\",
        "--hash=sha256:bb",
    ]
    with pytest.raises(SetupError, match="does not lock absent"):
        locked_lines("absent", LOCK)


def test_uv_uses_the_index_of_pip() -> None:
    """Newcomer: a mirror set for pip serves uv too, unless uv has its own."""
    given = {"PIP_INDEX_URL": "mirror", "PIP_CERT": "cert", "SSL_CERT_FILE": "own"}

    assert uv_environment(given) == {
        **given,
        "UV_DEFAULT_INDEX": "mirror",
    }


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return a folder with the finder alone, and only old Pythons on the path."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/setup.sh", tmp_path / "scripts")
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        program(tmp_path / "bin" / name, OLD_PYTHON)
    return tmp_path


def find(bare: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the finder."""
    return subprocess.run(
        ["/bin/sh", "scripts/setup.sh"],
        cwd=bare,
        env={"PATH": f"{bare}/bin:/usr/bin:/bin", **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_old_python_gets_one_clear_sentence(bare: Path) -> None:
    """Newcomer: no traceback, but what was found and what to do."""
    answer = find(bare)

    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert "needs Python 3.11 or newer (found: Python 3.8.18)" in answer.stderr


def test_a_newer_python_beside_the_old_one_is_used(bare: Path) -> None:
    """Newcomer: python3 may be old as long as another one is there, or is named."""
    (bare / "scripts/setup.py").write_text("print('found')")
    named = find(bare, PYTHON=sys.executable)
    program(bare / "bin/python3.13", f'exec "{sys.executable}" "$@"')
    beside = find(bare)

    assert (named.stdout, beside.stdout) == ("found\n", "found\n")
