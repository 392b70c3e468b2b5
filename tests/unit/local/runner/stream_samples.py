"""Stream mappings and records for tests: valid by default, override one field."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from local.specs import StreamMappingSpec

NOW = 1_700_000_000


def make_spec(**changes: Any) -> StreamMappingSpec:
    """Return a mapping with bisect and one retry."""
    settings: dict[str, Any] = {
        "mapping_id": "mapping",
        "function": "sample",
        "table": "table",
        "batch_size": 100,
        "window_seconds": 0,
        "starting_position": "TRIM_HORIZON",
        "parallelization_factor": 1,
        "bisects": True,
        "max_retries": 1,
        "max_age_seconds": -1,
        "reports_failures": True,
        "enabled": True,
        "failure_bucket": "failed",
    }
    return StreamMappingSpec(**{**settings, **changes})


def make_event_record(number: int, created: int = NOW) -> Mapping[str, Any]:
    """Return a record as an event carries it."""
    return {
        "dynamodb": {"SequenceNumber": str(number), "ApproximateCreationDateTime": created},
    }


def make_engine_record(number: int, created: int = NOW) -> Mapping[str, Any]:
    """Return a record as the streams API answers it."""
    return {
        "eventID": f"event-{number}",
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "dynamodb": {
            "SequenceNumber": str(number),
            "ApproximateCreationDateTime": datetime.fromtimestamp(created, UTC),
            "Keys": {"id": {"S": str(number)}},
        },
    }
