"""Root's OpenSearch runs as nobody, who can read the program and write the data, and no more."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.engines import unprivileged
from local.engines.errors import EngineError
from local.engines.unprivileged import (
    NOBODY,
    hand_over,
    is_open_to_others,
    own_folder,
    program_folder,
    readable_copy,
)

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def open_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a folder that everybody can enter, which is also where root shares things."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        monkeypatch.setattr(unprivileged, "SHARED_BASES", (folder,))
        yield folder


@pytest.fixture
def closed_folder(open_folder: Path) -> Path:
    """Make a folder like the home of root."""
    closed = open_folder / "home"
    closed.mkdir(mode=0o700)
    return closed


def test_a_folder_under_a_closed_one_is_not_open(open_folder: Path, closed_folder: Path) -> None:
    """R82: nobody must be able to enter every folder on the way."""
    (closed_folder / "sub").mkdir(mode=0o755)

    assert is_open_to_others(open_folder)
    assert is_open_to_others(open_folder / "not yet made")
    assert not is_open_to_others(closed_folder)
    assert not is_open_to_others(closed_folder / "sub")


@root_only
def test_a_program_that_nobody_can_read_is_copied_once(
    open_folder: Path, closed_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R82: works as root with a cache under a closed home, whatever the umask."""
    monkeypatch.setenv("EMBEDQ_CACHE", str(closed_folder))
    java = closed_folder / "jre" / "bin"
    java.mkdir(parents=True)
    (java / "java").touch(mode=0o700)

    copy = readable_copy(closed_folder / "jre", "java-25")

    assert copy == program_folder() / "java-25" == open_folder / "embedq" / "java-25"
    assert (copy / "bin" / "java").stat().st_mode & 0o005 == 0o005
    assert readable_copy(closed_folder / "jre", "java-25") == copy


def test_a_program_that_everybody_can_read_stays_where_it_is(open_folder: Path) -> None:
    """R82: no copy without need."""
    assert readable_copy(open_folder, "java-25") == open_folder


@root_only
def test_data_goes_where_nobody_can_reach_it(open_folder: Path, closed_folder: Path) -> None:
    """R82: a data folder under a closed home becomes a link, and comes back after a restart."""
    wanted = closed_folder / "opensearch"
    real = own_folder(wanted)
    (real / "kept").touch()
    hand_over(real)

    assert real.parent == open_folder / "embedq" / "run"
    assert (real / "kept").stat().st_uid == NOBODY
    assert own_folder(wanted) == real == wanted.resolve()
    assert (real / "kept").exists()


@root_only
def test_data_of_a_deleted_folder_is_forgotten(closed_folder: Path) -> None:
    """R82: whoever deletes the folder starts anew, also where only a link stood in it."""
    wanted = closed_folder / "opensearch"
    (own_folder(wanted) / "old").touch()

    wanted.unlink()

    assert list(own_folder(wanted).iterdir()) == []


@root_only
def test_data_of_a_deleted_folder_is_removed_by_the_next_start(closed_folder: Path) -> None:
    """R82: deleted folders do not fill the disk elsewhere."""
    wanted = closed_folder / "old" / "opensearch"
    real = own_folder(wanted)
    wanted.unlink()

    other = own_folder(closed_folder / "new" / "opensearch")

    assert (real.exists(), other.exists()) == (False, True)


@root_only
def test_a_shared_folder_of_somebody_else_is_refused(
    open_folder: Path, closed_folder: Path
) -> None:
    """R82: root runs nothing from a folder that another user prepared."""
    (open_folder / "embedq").mkdir()
    hand_over(open_folder / "embedq")

    with pytest.raises(EngineError, match="belongs to another user"):
        own_folder(closed_folder / "opensearch")
