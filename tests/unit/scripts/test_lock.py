"""A lock that does not belong to its inputs is noticed without network."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from infrastructure.function_table import FUNCTIONS
from scripts import lock
from tests.repo.checkout import ROOT


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the locks and their inputs."""
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.setattr(lock, "ROOT", tmp_path)
    return tmp_path


def test_the_committed_locks_match_their_inputs() -> None:
    """Locks: what is installed is what requirements/*.in ask for."""
    assert lock.problems(ROOT) == []


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        ("embed.in", ["dev", "embed"]),
        ("dev.in", ["dev"]),
        ("enqueue.txt", ["enqueue"]),
        ("dev.txt", sorted(["dev", *FUNCTIONS])),
        ("model.in", ["model"]),
    ],
)
def test_a_changed_file_names_the_stale_locks(copy: Path, changed: str, stale: list[str]) -> None:
    """Locks: an edited input, or a lock edited by hand, is reported with what to do."""
    with (copy / "requirements" / changed).open("a") as file:
        file.write("# changed\n")

    found = lock.problems(copy)

    assert sorted(line.split()[0] for line in found) == [f"requirements/{n}.txt" for n in stale]
    assert all(line.endswith("Run: make lock") for line in found)


def test_a_new_input_without_a_lock_is_named(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Locks: a new zip needs its lock before it can be built."""
    (copy / "requirements/another.in").write_text("boto3\n")

    assert lock.main(["--check"]) == 1

    assert "requirements/another.txt" in capsys.readouterr().err


def test_the_npm_lock_is_held_to_its_package_file(copy: Path) -> None:
    """Locks: another cdk version, or a download address, is reported."""
    path = copy / "package-lock.json"
    content = json.loads(path.read_text())
    content["packages"][""]["devDependencies"] = {"aws-cdk": "0"}
    content["packages"]["node_modules/aws-cdk"]["resolved"] = "somewhere"
    path.write_text(json.dumps(content))

    assert len(lock.npm_problems(copy)) == 2


def test_no_zip_gets_what_only_another_one_needs() -> None:
    """R01: the function that runs on every write carries no provider, index or vector package."""
    names = {
        line.split("==")[0]
        for line in (ROOT / "requirements/enqueue.txt").read_text().splitlines()
        if "==" in line
    }

    assert names & {"openai", "opensearch-py", "numpy", "orjson", "semantic-text-splitter"} == set()


def test_locks_are_compiled_in_order_and_bound_to_their_inputs(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locks: development first, because the zips are held to its versions."""
    fake = copy / "bin/uv"
    fake.parent.mkdir()
    fake.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\n"
        "output = sys.argv[sys.argv.index('--output-file') + 1]\n"
        "pathlib.Path(output).write_text(' '.join(sys.argv[3:]) + chr(10))\n"
        "pathlib.Path('order').open('a').write(output + chr(10))\n"
    )
    fake.chmod(0o755)
    monkeypatch.setattr(lock, "UV", fake)
    monkeypatch.setattr(lock, "compile_npm_lock", lambda: None)

    assert lock.main(["--upgrade"]) == 0

    order = [Path(line).stem for line in (copy / "order").read_text().split()]
    assert order[0] == "dev"
    assert order[1:] == sorted(path.stem for path in (copy / "requirements").glob("[!d]*.in"))
    embed = (copy / "requirements/embed.txt").read_text()
    assert "--generate-hashes" in embed
    assert "--constraints requirements/dev.txt" in embed
    assert embed.endswith("--upgrade\n")
