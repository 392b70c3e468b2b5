"""One shard of a mapping's stream: which it is, what reads it, and how far it is done."""

from dataclasses import dataclass

from local.runner.checkpoint import Checkpoint
from local.runner.mapping import Wiring
from local.specs import StreamMappingSpec

TRIM_HORIZON = "TRIM_HORIZON"


@dataclass(frozen=True)
class Shard:
    """The place of a shard, for whoever reads or works it."""

    spec: StreamMappingSpec
    wiring: Wiring
    checkpoint: Checkpoint
    stream: str  # the engine's ARN
    name: str
    start: str = TRIM_HORIZON  # where to begin if nothing of it is done

    @property
    def after(self) -> str | None:
        """Return the last sequence number that is done, None where there is none."""
        return self.checkpoint.after(self.stream, self.name)

    def advance(self, after: str) -> None:
        """Note that everything up to a sequence number is done."""
        self.checkpoint.advance(self.stream, self.name, after)

    def close(self) -> None:
        """Note that all of it is done."""
        self.checkpoint.close(self.stream, self.name)
