"""Packages are built from a fake tree and a fake installer: no wheel is fetched."""

import hashlib
import os
import sys
import zipfile
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from scripts import build_zips
from scripts.build_zips import BuildError, Package, build, main, table

FAKE_UV = """#!{python}
import pathlib, sys
arguments = sys.argv
target = pathlib.Path(arguments[arguments.index("--target") + 1])
lock = pathlib.Path(arguments[-1])
if "broken" in lock.read_text():
    sys.exit(2)
for line in lock.read_text().split():
    (target / line / "__pycache__").mkdir(parents=True)
    (target / line / "__init__.py").write_text("# " + " ".join(arguments[4:-1]))
    (target / line / "__pycache__" / "x.pyc").touch()
with pathlib.Path(__file__).with_name("calls").open("a") as calls:
    calls.write("call\\n")
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout with one function, and put an installer without network in uv's place."""
    for name, text in {
        "functions/__init__.py": "",
        "functions/a/__init__.py": "",
        "functions/a/handler.py": "import json\nimport lib\nfrom functions.core import task\n",
        "functions/core/__init__.py": "",
        "functions/core/task.py": "",
        "functions/core/other.py": "",
        "requirements/a.txt": "lib extra",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    uv = tmp_path / "uv"
    uv.write_text(FAKE_UV.format(python=sys.executable))
    uv.chmod(0o755)
    monkeypatch.setenv("UV", str(uv))
    set_runtime(monkeypatch, "3.99")
    return tmp_path


def set_runtime(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Let Lambda run another Python."""
    monkeypatch.setattr(build_zips, "RUNTIME", version)
    build_zips.compiler.cache_clear()


def calls(root: Path) -> int:
    """Return how often the installer ran."""
    log = root / "calls"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_a_zip_holds_the_wheels_and_the_imported_modules_alone(root: Path) -> None:
    """R01: each function gets only what it imports."""
    build(Package("a", root, "lambda"))

    assert zipfile.ZipFile(root / "build/lambda/a.zip").namelist() == [
        "extra/__init__.py",
        "functions/__init__.py",
        "functions/a/__init__.py",
        "functions/a/handler.py",
        "functions/core/__init__.py",
        "functions/core/task.py",
        "lib/__init__.py",
    ]


def test_wheels_are_those_of_lambda_arm64_checked_by_hash(root: Path) -> None:
    """R01: no Docker; the wheels are chosen for the platform of the function."""
    build(Package("a", root, "lambda"))

    asked = zipfile.ZipFile(root / "build/lambda/a.zip").read("lib/__init__.py").decode()
    assert "--python-platform aarch64-manylinux_2_28 --python-version 3.13" in asked
    assert "--only-binary :all: --require-hashes" in asked


def test_two_builds_give_the_same_bytes(root: Path) -> None:
    """R01: a zip that did not change is not deployed again."""
    sums = []
    for _ in range(2):
        build(Package("a", root, "lambda"))
        zip_file = root / "build/lambda/a.zip"
        sums.append(hashlib.sha256(zip_file.read_bytes()).hexdigest())
        zip_file.unlink()
        os.utime(root / "functions/core/task.py", (1, 1))

    assert calls(root) == 2
    assert sums[0] == sums[1]


def test_unchanged_inputs_build_nothing(root: Path) -> None:
    """R01: a second build costs nothing, and a module that is not imported changes nothing."""
    first = build(Package("a", root, "lambda"))
    (root / "functions/core/other.py").write_text("changed = True")

    second = build(Package("a", root, "lambda"))

    assert (first.fresh, second.fresh, calls(root)) == (True, False, 1)
    assert second.unzipped_bytes == first.unzipped_bytes


@pytest.mark.parametrize("name", ["functions/core/task.py", "requirements/a.txt"])
def test_a_changed_input_builds_again(root: Path, name: str) -> None:
    """R01: the zip is never older than its inputs."""
    build(Package("a", root, "lambda"))
    with (root / name).open("a") as file:
        file.write("\n")

    assert build(Package("a", root, "lambda")).fresh


def test_this_machine_gets_the_same_package_as_a_folder(root: Path) -> None:
    """R82: one-machine mode runs what would be deployed, with this platform's wheels."""
    build(Package("a", root, "local"))
    build(Package("a", root, "local"))

    folder = root / "build/local/a"
    assert (folder / "functions/a/handler.py").is_file()
    assert f"--python {sys.executable}" in (folder / "lib/__init__.py").read_text()
    assert not (folder / "functions/core/other.py").exists()


def test_an_import_that_the_lock_does_not_install_is_refused(root: Path) -> None:
    """R01: a missing package shows at build, not at the first event."""
    (root / "functions/core/task.py").write_text("import absent")

    with pytest.raises(BuildError, match=r"functions/core/task\.py imports absent"):
        build(Package("a", root, "lambda"))

    assert not (root / "build/lambda/a.zip").exists()


def test_a_package_over_lambdas_limit_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R01: Lambda takes 250 MB unzipped."""
    monkeypatch.setattr(build_zips, "LAMBDA_UNZIPPED_LIMIT_BYTES", 10)

    with pytest.raises(BuildError, match="Lambda takes 10"):
        build(Package("a", root, "lambda"))


def test_a_failed_installation_names_its_lock(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R01: one sentence says which lock could not be installed."""
    (root / "requirements/a.txt").write_text("broken")
    monkeypatch.setattr(build_zips, "ROOT", root)

    assert main(["a"]) == 1

    assert "requirements/a.txt cannot be installed" in capsys.readouterr().err


def test_a_missing_handler_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R01: a function without a handler is a mistake, not an empty zip."""
    monkeypatch.setattr(build_zips, "ROOT", root)

    assert main(["b"]) == 1

    assert "functions/b/handler.py is missing" in capsys.readouterr().err


def test_the_table_tells_sizes_and_what_was_unchanged(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R01: the person who builds sees what the zips weigh."""
    monkeypatch.setattr(build_zips, "ROOT", root)

    assert main(["a"]) == 0
    assert main(["a", "--platform", "local"]) == 0

    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed] == [
        "function",
        "a",
        "without",
        "function",
        "a",
    ]
    assert table([build(Package("a", root, "local"))]).endswith("unchanged")


def test_zip_holds_bytecode_that_no_one_checks_where_a_python_of_the_runtime_is(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R01: a cold start compiles nothing; the same bytes from any folder and at any time."""
    set_runtime(monkeypatch, "{}.{}".format(*sys.version_info))
    zips = []
    for _ in range(2):
        build(Package("a", root, "lambda"))
        zips.append((root / "build/lambda/a.zip").read_bytes())
        (root / "build/lambda/a.stamp").unlink()

    archive = zipfile.ZipFile(root / "build/lambda/a.zip")
    compiled = [name for name in archive.namelist() if name.endswith(".pyc")]
    sources = [name for name in archive.namelist() if name.endswith(".py")]
    assert len(compiled) == len(sources)
    for name in compiled:
        content = archive.read(name)
        # PEP 552: by hash, and the hash is not compared.
        assert (content[:4], content[4:8]) == (MAGIC_NUMBER, b"\1\0\0\0"), name
        assert str(root).encode() not in content
    assert b"/var/task/functions/a/handler.py" in archive.read(
        next(name for name in compiled if "functions/a/__pycache__/handler" in name)
    )
    assert zips[0] == zips[1]
    assert build_zips.bytecode().startswith("with bytecode of Python 3.")


def test_zip_without_a_python_of_the_runtime_holds_no_bytecode_and_the_build_says_so(
    root: Path,
) -> None:
    """R01: bytecode of another version would only be ballast."""
    build(Package("a", root, "lambda"))

    names = zipfile.ZipFile(root / "build/lambda/a.zip").namelist()
    assert not [name for name in names if name.endswith(".pyc")]
    assert "no python3.99 is on the path" in build_zips.bytecode()


def test_another_python_of_the_runtime_builds_anew(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R01: a zip without bytecode is not taken for one with it."""
    build(Package("a", root, "lambda"))
    set_runtime(monkeypatch, "{}.{}".format(*sys.version_info))

    assert build(Package("a", root, "lambda")).fresh
