"""What the demo writes: Aesop's fables, retold, and one longer document with many chunks."""

import json
from pathlib import Path

# Questions in other words than the fables', each with the fables that answer it.
JUDGMENTS = Path(__file__).with_name("judgments.jsonl")
LONG_ID = "all-fables"
NEW_PARAGRAPH = "Each of these stories was spoken aloud for centuries before it was written down."


def fables() -> list[dict[str, str]]:
    """Return the fables as items of the demo's table."""
    items: list[dict[str, str]] = json.loads(Path(__file__).with_name("fables.json").read_text())
    return items


def long_document(*, edited: bool) -> dict[str, str]:
    """Return one document of all fables; the edited one differs in one paragraph."""
    paragraphs = [f"{fable['title']}. {fable['body']}" for fable in fables()]
    if edited:
        paragraphs[len(paragraphs) // 2] = NEW_PARAGRAPH
    return {"id": LONG_ID, "title": "All fables in one", "body": "\n\n".join(paragraphs)}
