"""When an alarm begins: the thresholds of one stage."""

from pydantic import Field

from functions.core.frozen import Frozen
from functions.core.lane import Lane


class LaneMinutesConfig(Frozen):
    """How long the oldest task of a lane may wait."""

    high: int = Field(Lane.HIGH.traits.alarm_minutes, ge=1, le=1440)
    normal: int = Field(Lane.NORMAL.traits.alarm_minutes, ge=1, le=1440)
    bulk: int = Field(Lane.BULK.traits.alarm_minutes, ge=1, le=1440)
    delete: int = Field(Lane.DELETE.traits.alarm_minutes, ge=1, le=1440)
    sequential: int = Field(Lane.SEQUENTIAL.traits.alarm_minutes, ge=1, le=1440)

    def of(self, lane: Lane) -> int:
        return int(getattr(self, lane.value))


class AlarmsConfig(Frozen):
    """The thresholds of the alarms, and where their pages are."""

    runbook: str = Field(
        "docs/operations",
        min_length=1,
        max_length=200,
        description="where the pages of the alarms are, such as the address of docs/operations in"
        " your repository; each alarm ends with it and its page",
    )
    lane_minutes: LaneMinutesConfig = LaneMinutesConfig()
    stream_minutes: int = Field(
        15, ge=1, le=1380, description="... that enqueue may be behind a stream, which keeps 24 h"
    )
    freshness_minutes: int = Field(
        15, ge=1, le=1440, description="... from a write to the search, for 19 documents of 20"
    )
    retry_percent: int = Field(10, ge=1, le=99, description="... of attempts that may fail")
    given_up_per_hour: int = Field(
        10, ge=0, le=1_000_000, description="... documents that may be given up in an hour"
    )
    failed_documents: int = Field(
        1000, ge=0, le=100_000_000, description="... that may wait for a person"
    )
    stuck_documents: int = Field(
        50, ge=0, le=100_000_000, description="... that may be stuck for an hour: warning"
    )
    stuck_documents_critical: int = Field(
        200, ge=0, le=100_000_000, description="... that may be stuck for an hour: critical"
    )
    unresolved_days: int = Field(
        7, ge=1, le=365, description="... that a document may be failed or stuck"
    )
    budget_percent: int = Field(80, ge=1, le=99, description="... of a budget: warning")
    late_proof_days: int = Field(
        2, ge=1, le=90, description="... that the proof may be later than verify.days"
    )
    free_storage_percent: int = Field(
        25, ge=1, le=90, description="... of volume_gb that stays free on each node of a domain"
    )
    memory_percent: int = Field(
        95, ge=50, le=100, description="... of its memory that OpenSearch may use"
    )
