"""Folders of one-machine mode hold documents: only their owner can enter them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import background
from local.engines.engine import place_for
from local.engines.unprivileged import own_folder
from local.files import private_folder

OTHERS = 0o077


@pytest.fixture(autouse=True)
def _careless_user() -> Iterator[None]:
    """Let new files be open to all, as far as the user's settings say."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_folder_is_closed_to_others_also_where_it_was_open(tmp_path: Path) -> None:
    """R82: an older one too."""
    (tmp_path / "old").mkdir(mode=0o777)

    for name in ("old", "new"):
        assert not private_folder(tmp_path / name).stat().st_mode & OTHERS


def test_data_of_an_engine_is_closed_to_others(tmp_path: Path) -> None:
    """R82: in memory, and that of OpenSearch, which may run as another user."""
    place = place_for("sample", tmp_path, in_memory=True)
    try:
        assert not place.data.stat().st_mode & OTHERS
        assert not own_folder(place.data).stat().st_mode & OTHERS
    finally:
        place.data.rmdir()


def test_stack_that_does_not_start_leaves_only_private_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R82: the folder of all stacks, that of this one and its log."""
    folder = tmp_path / ".local" / "standard"
    monkeypatch.setattr(background, "FOLDER", folder.parent)

    with pytest.raises(background.NotStartedError):
        background.up(lambda _: None, folder, vectors="nonsense")

    assert (folder / background.LOG).read_text()
    for path in (folder.parent, folder, folder / background.LOG):
        assert not path.stat().st_mode & OTHERS, path
