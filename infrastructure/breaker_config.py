"""What cdk.json says about a target's breakers: when they open, and when they try again."""

from typing import Annotated

from pydantic import Field

from functions.core.settings import BreakerSettings
from infrastructure.config_mistakes import ConfigModel

Delay = Annotated[float, Field(ge=1, le=86_400)]


class BreakerConfig(ConfigModel):
    """One rule for the provider's breaker and the index's."""

    window_seconds: int = Field(60, ge=10, le=3600, description="10 to 3600")
    least_requests: int = Field(
        10, ge=1, le=10_000, description="1 to 10000; fewer in a window tell nothing"
    )
    failure_ratio: float = Field(
        0.5, gt=0, le=1, description="above 0, at most 1: the share of failures that opens it"
    )
    probe_after_seconds: list[Delay] = Field(
        [30, 60, 120, 300],
        min_length=1,
        description="a list of delays, 1 to 86400 each, from opening to the first probe and from"
        " probe to probe; the last one repeats, and probes go out once a minute at most",
    )
    lane_seconds: float = Field(
        60, ge=1, le=3600, description="1 to 3600: from one lane that comes back to the next"
    )

    @property
    def settings(self) -> BreakerSettings:
        """Return what embed and breaker go by."""
        return BreakerSettings(
            window_seconds=self.window_seconds,
            least_requests=self.least_requests,
            failure_ratio=self.failure_ratio,
            probe_after_seconds=tuple(self.probe_after_seconds),
            lane_seconds=self.lane_seconds,
        )
