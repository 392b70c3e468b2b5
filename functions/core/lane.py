"""The lanes between enqueue and embed: all that the code and the stack know about each."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from functions.core.failure import Part

# What Lambda takes at most from a FIFO queue, which has no window.
FIFO_BATCH = 10
# SQS keeps no message longer.
RETENTION_DAYS = 14


@dataclass(frozen=True)
class Traits:
    """How a lane behaves; the defaults are those of the normal one."""

    reopens: int = 2  # its step when a breaker reopens: lanes of one step come back together
    alarm_minutes: int = 15  # how long its oldest task may wait before a person should look
    is_fifo: bool = True
    is_live: bool = True  # healing waits until it is quiet
    is_searchable_at_once: bool = True  # a write waits for the index to refresh
    batch_size: int = FIFO_BATCH
    window_seconds: int = 0
    needs: tuple[Part, ...] = (Part.PROVIDER, Part.INDEX)  # stopped by the breaker of any of these
    is_per_source: bool = False  # one queue for each sequential source


ORDINARY = Traits()


class Lane(StrEnum):
    """A queue with its priority, highest first."""

    HIGH = "high", Traits(reopens=1, alarm_minutes=5)
    NORMAL = "normal"
    # Meant to wait for live writes. SQS would hand out 10,000, but what a run has no time for
    # only goes back and forth.
    BULK = (
        "bulk",
        Traits(
            reopens=3,
            alarm_minutes=6 * 60,
            is_fifo=False,
            is_live=False,
            batch_size=200,
            window_seconds=5,
            is_searchable_at_once=False,
        ),
    )
    # A delete needs no vector: this lane stays open while the provider is down.
    DELETE = (
        "delete",
        Traits(
            reopens=0,
            is_fifo=False,
            is_live=False,
            batch_size=100,
            window_seconds=1,
            needs=(Part.INDEX,),
        ),
    )
    # A source with `ordering: sequential` has one FIFO queue and one message group of its own.
    SEQUENTIAL = "sequential", Traits(reopens=1, alarm_minutes=30, batch_size=1, is_per_source=True)

    traits: Traits

    def __new__(cls, value: str, traits: Traits = ORDINARY) -> "Lane":
        lane = str.__new__(cls, value)
        lane._value_ = value
        lane.traits = traits
        return lane

    @property
    def is_fifo(self) -> bool:
        return self.traits.is_fifo

    def needs(self, part: Part) -> bool:
        """Tell whether an open breaker of this part stops the lane."""
        return part in self.traits.needs

    @property
    def heals_in(self) -> "Lane":
        """Return where its failed documents are tried again: never before live work.

        A sequential source has no other lane, and a delete needs no provider.
        """
        is_own = self.traits.is_per_source or not self.needs(Part.PROVIDER)
        return self if is_own else Lane.BULK


# What a document may ask for.
PRIORITIES = (Lane.HIGH, Lane.NORMAL, Lane.BULK)
# And what many call the last one.
LOW = "low"


def lane_for(priority: str) -> Lane | None:
    """Return the lane of a priority as a document spells it; None where there is no such one."""
    wanted = priority.strip().lower()
    if wanted == LOW:
        return Lane.BULK
    return next((lane for lane in PRIORITIES if lane == wanted), None)


def faster(wanted: Lane, other: Lane) -> Lane:
    """Return the lane that is served first; a lane outside the priorities gives way."""
    return next((lane for lane in PRIORITIES if lane in (wanted, other)), wanted)


def queue_name(lane: Lane, source: str) -> str:
    """Name the queue of a lane among the queues of one target."""
    return f"{lane}-{source}" if lane.traits.is_per_source else str(lane)


def lane_of(queue: str) -> Lane:
    """Return the lane of a queue by the name that `queue_name` gave it."""
    return Lane(queue.partition("-")[0])


def lanes_of(sequential_sources: Iterable[str]) -> list[tuple[Lane, str]]:
    """List the queues of one target as lane and source; the source is empty where all share it."""
    own = tuple(sequential_sources)
    return [
        (lane, source) for lane in Lane for source in (own if lane.traits.is_per_source else ("",))
    ]
