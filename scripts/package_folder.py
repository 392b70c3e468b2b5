"""Thin out an installed package folder and write it as a zip: same content, same bytes.

Only what no import can miss is taken away.
"""

import shutil
import zipfile
from pathlib import Path

# ZIP cannot hold an earlier time; a fixed one keeps the bytes equal.
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
READABLE_FILE = 0o100644 << 16
UNIX = 3

USELESS_FOLDERS = {"__pycache__", "tests", "test", "examples", "include"}
USELESS_SUFFIXES = {".pyi", ".pyx", ".pxd", ".pyc", ".h", ".c", ".a"}
# Written by the installer, different on every machine. METADATA stays for importlib.metadata.
INSTALLER_NOTES = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"}


def thin(folder: Path, services: set[str]) -> None:
    """Remove tests, stubs, scripts, headers and the AWS models of unused services."""
    for name in ("bin", ".lock"):
        remove(folder / name)
    for path in sorted(folder.rglob("*")):
        if is_useless(path.relative_to(folder)):
            remove(path)
    for data in (folder / "botocore/data", folder / "boto3/data"):
        for service in sorted(data.iterdir()) if data.is_dir() else ():
            if service.is_dir() and service.name not in services:
                remove(service)


def is_useless(path: Path) -> bool:
    """Tell whether a file or folder of a wheel is never needed at run time."""
    if path.parent.suffix == ".dist-info" and path.name in INSTALLER_NOTES:
        return True
    # A top-level folder called tests may be a package in its own right only by mistake.
    return path.name in USELESS_FOLDERS or path.suffix in USELESS_SUFFIXES


def remove(path: Path) -> None:
    """Delete a file or a folder if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def top_level_names(folder: Path) -> set[str]:
    """Return the names that can be imported from a package folder."""
    return {path.name.split(".")[0] for path in folder.iterdir()}


def unzipped_bytes(folder: Path) -> int:
    """Return the size of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def write_zip(folder: Path, target: Path) -> None:
    """Write the folder as a zip whose bytes depend on its content alone."""
    part = target.with_suffix(".part")
    with zipfile.ZipFile(part, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.writestr(entry(path.relative_to(folder)), path.read_bytes())
    part.replace(target)


def entry(name: Path) -> zipfile.ZipInfo:
    """Return a zip entry without the machine's time, owner and mode."""
    info = zipfile.ZipInfo(name.as_posix(), ZIP_EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = UNIX
    info.external_attr = READABLE_FILE
    return info
