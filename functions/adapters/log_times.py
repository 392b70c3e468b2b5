"""The times of log lines, as telemetry writes them: for whoever reads logs."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

# As Powertools writes it: 2026-11-17 02:05:43,329+0000
TIMESTAMP = "%Y-%m-%d %H:%M:%S,%f%z"


def parsed(line: str) -> Mapping[str, Any]:
    """Return the fields of a line; a line that is no JSON object has none."""
    try:
        fields = json.loads(line)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def time_of(fields: Mapping[str, Any]) -> datetime | None:
    """Return when a line was written, if it says so."""
    match fields:
        case {"_aws": {"Timestamp": int(at_ms)}}:
            return datetime.fromtimestamp(at_ms / 1000, UTC)
        case {"timestamp": str(text)}:
            try:
                return datetime.strptime(text, TIMESTAMP)
            except ValueError:
                return None
    return None
