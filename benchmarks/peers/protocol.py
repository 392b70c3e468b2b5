"""What a run asks of embedq and of each peer, and where they all work."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.peers.counting import Sales, Stored
from benchmarks.peers.documents import Texts
from benchmarks.peers.postgres import Postgres
from local.stack import LocalStack
from ops.demo.provider import Provider

MODEL = "text-embedding-3-small"
DIMENSIONS = 1536


@dataclass(frozen=True)
class Site:
    """The engines and the provider that all of them share."""

    folder: Path
    stack: LocalStack
    postgres: Postgres
    provider: Provider

    @property
    def provider_url(self) -> str:
        """Return the base URL that OpenAI's SDK takes."""
        return f"{self.stack.model_origin}/v1"

    @property
    def settings(self) -> dict[str, Any]:
        """Return what every peer is told of the provider."""
        return {"model": MODEL, "dimensions": DIMENSIONS, "provider": self.provider_url}

    def sales(self) -> Sales:
        """Ask the provider for its counts."""
        counts = self.provider.counts()
        return Sales(counts["requests"], counts["inputs"], counts["paid"]["inputs"])


@dataclass(frozen=True)
class Begin:
    """When a work began, and what CPU time its program had used by then."""

    at: float  # of the machine's own clock
    cpu_seconds: float


class Work(Protocol):
    """What a program does after it was started."""

    def is_over(self) -> bool:
        """Tell whether it has done all that it will do."""
        ...

    def kill(self) -> bool:
        """Kill it in the middle of its work; False if it was over before."""
        ...

    def begin(self) -> Begin:
        """Return when it began, after its program was loaded."""
        ...

    def cpu_seconds(self) -> float:
        """Return the CPU time of its program, once it is over."""
        ...


class Peer(Protocol):
    """One program with a source and a store of its own."""

    def write(self, puts: Texts, deletes: Collection[str]) -> None:
        """Change the source."""
        ...

    def start(self) -> Work:
        """Start it, or start it again after a kill, as its documentation says."""
        ...

    def stored(self) -> list[Stored]:
        """Return what a search can find, one for each entry of the store."""
        ...

    def store_cpu_seconds(self) -> float:
        """Return the CPU time that its store has used."""
        ...


@dataclass(frozen=True)
class Entrant:
    """A program that takes part: how it is called, and how one of it is made for a story."""

    name: str
    store: str
    package: tuple[str, str] | None  # its lock in requirements/, and its name there
    restart: str  # what brings it back after a kill
    make: Callable[[Site, str], Peer]  # the second is the name of the story
