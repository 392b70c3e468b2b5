"""The checkout as its tests see it: the files git tracks or would track, without cdk.json."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def files(pattern: str = "*") -> list[Path]:
    """Return tracked and new files that match, never ignored or deleted ones."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", pattern],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    paths = (ROOT / name for name in sorted(set(listing.split("\0"))) if name)
    # cdk.json is the user's own: whatever it holds is right.
    return [path for path in paths if path.is_file() and path != ROOT / "cdk.json"]


def texts(pattern: str = "*") -> dict[str, str]:
    """Return path and content of every matching file that is text."""
    found = {}
    for path in files(pattern):
        content = path.read_bytes()
        if b"\0" not in content:
            found[path.relative_to(ROOT).as_posix()] = content.decode()
    return found
