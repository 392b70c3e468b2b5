"""Small JSON files that are there whole, before and after a kill at any moment."""

import json
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
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(content, indent=1))
    new.replace(path)
