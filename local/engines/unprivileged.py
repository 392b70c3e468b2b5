"""Root runs OpenSearch as the user `nobody`, which must read the program and own its data."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from filelock import FileLock

from local.engines.errors import EngineError
from local.engines.fetch import cache_folder

NOBODY = 65534
# Folders that root can write and others can enter, best first.
SHARED_BASES = (Path("/var/cache"), Path(tempfile.gettempdir()), Path("/var/tmp"))
# A file beside each linked folder, with the path of the link.
ORIGIN = ".origin"
OTHERS_ENTER = 0o001
OTHERS_READ = 0o004


def is_root() -> bool:
    """Return whether this process is root, as whom OpenSearch refuses to run."""
    return os.geteuid() == 0


def is_open_to_others(path: Path) -> bool:
    """Return whether any user may read this folder and enter every folder above it."""
    path = path.resolve()
    if path.exists() and not path.stat().st_mode & OTHERS_READ:
        return False
    return all(p.stat().st_mode & OTHERS_ENTER for p in (path, *path.parents) if p.exists())


def program_folder() -> Path:
    """Return where unpacked programs go: the cache, or a folder that `nobody` can read."""
    if not is_root() or is_open_to_others(cache_folder()):
        return cache_folder()
    return _shared_folder()


def readable_copy(folder: Path, name: str) -> Path:
    """Return the folder itself where the user `nobody` can read it, else a copy made once."""
    if not is_root() or is_open_to_others(folder):
        return folder
    copy = program_folder() / name
    copy.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(copy.with_name(f"{name}.lock")):
        if not copy.exists():
            building = copy.with_name(f"{name}.part")
            shutil.rmtree(building, ignore_errors=True)
            shutil.copytree(folder, building)
            open_to_others(building)
            building.replace(copy)
    return copy


def own_folder(wanted: Path) -> Path:
    """Make the engine's folder and return where it really is.

    Where its user cannot reach the wanted place, that becomes a link to one that it can.
    """
    wanted.parent.mkdir(parents=True, exist_ok=True)
    real = wanted
    if is_root() and not is_open_to_others(wanted.parent / "any"):
        real = _linked_folder(wanted.absolute())
    real.mkdir(exist_ok=True)
    real.chmod(0o700)
    return real


def _linked_folder(wanted: Path) -> Path:
    run = _shared_folder() / "run"
    run.mkdir(exist_ok=True)
    run.chmod(0o711)
    _forget_deleted(run)
    real = run / hashlib.sha256(str(wanted).encode()).hexdigest()[:16]
    real.with_suffix(ORIGIN).write_text(str(wanted))
    if not wanted.is_symlink():
        wanted.symlink_to(real)
    return real


def _forget_deleted(run: Path) -> None:
    """Remove the data of links that were deleted since."""
    for origin in run.glob(f"*{ORIGIN}"):
        if not Path(origin.read_text()).is_symlink():
            shutil.rmtree(origin.with_suffix(""), ignore_errors=True)
            origin.unlink(missing_ok=True)


def open_to_others(folder: Path) -> None:
    """Let everyone read the folder and all in it, whatever the umask was."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            enter = OTHERS_ENTER if path.is_dir() or mode & 0o100 else 0
            path.chmod(mode | OTHERS_READ | enter)


def hand_over(folder: Path) -> None:
    """Give a folder and all in it to the user `nobody`, if we are root."""
    if is_root():
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def _shared_folder() -> Path:
    """Return root's folder that others can enter; refuse one that another user made."""
    for base in SHARED_BASES:
        if base.is_dir() and is_open_to_others(base):
            folder = base / "embedq"
            folder.mkdir(exist_ok=True)
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                raise EngineError(f"{folder} belongs to another user: remove it, then start again.")
            folder.chmod(0o755)
            return folder
    raise EngineError("No folder that the user nobody can enter: set EMBEDQ_CACHE to one.")
