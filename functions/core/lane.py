"""The lanes between enqueue and embed, and which of two is faster."""

from enum import StrEnum


class Lane(StrEnum):
    """A queue with its priority."""

    HIGH = "high"
    NORMAL = "normal"
    BULK = "bulk"
    DELETE = "delete"
    # A source with `ordering: sequential` has one FIFO queue and one message group of its own.
    SEQUENTIAL = "sequential"

    @property
    def is_fifo(self) -> bool:
        return self in (Lane.HIGH, Lane.NORMAL, Lane.SEQUENTIAL)


PRIORITIES = (Lane.HIGH, Lane.NORMAL, Lane.BULK)


def faster(one: Lane, other: Lane) -> Lane:
    """Return the lane that is served first; a lane outside the priorities gives way."""
    known = [lane for lane in PRIORITIES if lane in (one, other)]
    return known[0] if known else one


def queue_name(lane: Lane, source: str) -> str:
    """Name the queue of a lane among the queues of one target."""
    return f"{lane}-{source}" if lane is Lane.SEQUENTIAL else str(lane)
