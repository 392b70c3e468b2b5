"""What only the sweep depends on."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from functions.core.change import Change, Rejected
from functions.core.ports import Cursor

# Until a job is to start nothing more; what it has begun it may still finish.
SecondsLeft = Callable[[], float]
Wait = Callable[[float], None]


class Job(Protocol):
    """One job of the sweep."""

    @property
    def name(self) -> str: ...

    def run(self, seconds_left: SecondsLeft) -> None:
        """Do as much as time allows; the next run goes on."""


class Cursors(Protocol):
    """Where each job was cut off the last time."""

    def read(self, job: str) -> Cursor:
        """Return where to begin; START where nothing is known."""

    def write(self, job: str, cursor: Cursor) -> None:
        """Remember where the next run begins."""


class FailedChanges(Protocol):
    """Where the stream's mapping puts what it has given up."""

    def names(self) -> Iterator[str]:
        """Name each batch that lies there."""

    def read(self, name: str) -> tuple[list[Change], list[Rejected]]:
        """Return the records of a batch; raise UnreadableBatchError where it is none."""

    def remove(self, name: str) -> None:
        """Forget a batch."""


class IndexAdmin(Protocol):
    def uuid(self, alias: str) -> str | None:
        """Return the UUID of the index behind an alias; None where there is no such alias."""


class ChangeTaker(Protocol):
    """The step of enqueue, which a change passes at its second try too."""

    def process(self, changes: Sequence[Change], *, trace_id: str = "") -> list[str]:
        """Bring changes into the lanes; return the sequence numbers that failed."""

    def reject(self, records: Sequence[Rejected]) -> None:
        """Record what cannot be parsed as failed, with its reason."""
