"""The event of a document's end, as docs/events.md promises it."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from functions.adapters.eventbridge_announcer import DETAIL_TYPES
from functions.core.announcement import EventDetail, event_detail, is_announced
from functions.core.identity import DocumentId
from functions.core.ledger_row import Status
from functions.core.names import EVENT_SOURCE
from functions.core.next_step import GiveUp, Heal, Step
from functions.core.transitions import settle
from tests.builders import NOW_MS, make_row

JSON_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
DETAIL = TypeAdapter(EventDetail)
ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/events.md").read_text()
SAMPLE = json.loads((ROOT / "events/9-document-completed.json").read_text())


def blocks() -> list[dict[str, Any]]:
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


def bare(node: Any) -> Any:
    """Leave out what pydantic says about names: the page has its own words."""
    if isinstance(node, dict):
        return {
            name: bare(value)
            for name, value in node.items()
            if not (name in ("title", "description") and isinstance(value, str))
        }
    return [bare(value) for value in node] if isinstance(node, list) else node


def test_completed_document_is_announced_as_the_sample_says() -> None:
    """R27: the sample of the page and of events/ is what the code builds."""
    row = make_row(
        status=Status.COMPLETED,
        type="article",
        chunks_done=3,
        tokens=412,
        model="text-embedding-3-small",
        attempts=1,
    )

    detail = event_detail(row, stage="prod", at_ms=NOW_MS + 4000)

    assert asdict(detail) == SAMPLE["detail"]
    assert (EVENT_SOURCE, DETAIL_TYPES[row.status]) == (SAMPLE["source"], SAMPLE["detail-type"])
    assert blocks()[0] == SAMPLE


def test_schema_of_the_page_is_that_of_the_code() -> None:
    """R27: whoever reads events can rely on their schema."""
    schema = bare(DETAIL.json_schema(mode="serialization"))

    assert blocks()[1] == {"$schema": JSON_SCHEMA} | schema


@pytest.mark.parametrize("status", DETAIL_TYPES)
def test_every_ending_fits_the_schema(status: Status) -> None:
    """R27: completed, partially completed, failed, deleted and skipped documents alike."""
    row = make_row(status=status, document_id=DocumentId("ä/☃"), reason="why")

    sent = json.dumps(asdict(event_detail(row, stage="dev", at_ms=NOW_MS)))
    detail = json.loads(sent)

    assert asdict(DETAIL.validate_json(sent, strict=True)) == detail
    assert (detail["status"], detail["document_id"]) == (status, "ä/☃")
    assert (detail["type"], detail["model"], detail["reason"]) == (None, None, "why")
    assert f"| `{DETAIL_TYPES[status]}` | `{status}` |" in PAGE


def test_every_field_is_explained() -> None:
    """R27: no field without its meaning on the page."""
    explained = "\n".join(line for line in PAGE.splitlines() if line.startswith("| `"))

    assert [name for name in blocks()[1]["required"] if f"`{name}`" not in explained] == []


@pytest.mark.parametrize("status", Status)
def test_open_document_is_not_announced(status: Status) -> None:
    """R27: only an end is an end."""
    assert is_announced(make_row(status=status)) is not status.is_open


@pytest.mark.parametrize(
    ("step", "announced"),
    [
        (Heal(60, "5 attempts failed"), False),
        (GiveUp("5 attempts failed", is_permanent=False), True),
        (GiveUp("empty", is_permanent=True), True),
    ],
    ids=["healing", "out of attempts", "permanent"],
)
def test_failure_is_announced_once_nothing_more_is_tried(step: Step, announced: bool) -> None:
    """R27 R30: a document that heals by itself has not failed."""
    row = settle(make_row(), step, content_hash=None, now_ms=NOW_MS)

    assert is_announced(row) is announced


def test_repeat_is_recognised_by_what_the_page_names() -> None:
    """R27: at least once; the second time only the moment differs."""
    row = make_row(status=Status.DELETED)
    first = asdict(event_detail(row, stage="dev", at_ms=NOW_MS))
    again = asdict(event_detail(row, stage="dev", at_ms=NOW_MS + 1))

    [line] = [line for line in PAGE.splitlines() if line.startswith("- **A repeat**")]
    names = re.findall(r"`(\w+)`", line.split(".")[0])

    assert names == ["target", "source", "document_id", "version", "status"]
    assert [first[name] for name in names] == [again[name] for name in names]
    assert {name for name in first if first[name] != again[name]} == {"ended_ms"}
