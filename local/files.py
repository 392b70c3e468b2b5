"""Small files that are whole or absent, also after a kill at any moment."""

import json
import os
from pathlib import Path
from typing import Any


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file, an empty one where there is no file."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return found


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Put the object in place of the old file in one step."""
    write_text(path, json.dumps(content, indent=1))


def write_text(path: Path, text: str) -> None:
    """Put the text in place of the old file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.write_text(text)
    new.replace(path)


def private_folder(path: Path) -> Path:
    """Make a folder that only its owner can enter: what is in it needs no lock of its own."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    return path
