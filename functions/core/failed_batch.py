"""Changes that enqueue could not take in time, as the stream's mapping has set them aside."""

from collections.abc import Sequence
from dataclasses import dataclass

from functions.core.change import Change, Rejected


class UnreadableBatchError(ValueError):
    """What lies among the failed changes is not what Lambda writes there."""


@dataclass(frozen=True)
class FailedBatch:
    """The records of one failed run, in our words."""

    changes: Sequence[Change]
    rejected: Sequence[Rejected]
