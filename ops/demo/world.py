"""Where the story happens, as the story sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from functions.adapters.opensearch_search import Hit
from functions.core.ledger_row import LedgerRow

# The provider refuses any text with this word while it is poison.
POISON = "xyzzy"


@dataclass(frozen=True)
class DeadLetter:
    """A task in the dead letters, with the reason that the ledger knows."""

    document_id: str
    reason: str


class World(Protocol):
    """One table, one target, one index."""

    def put(self, item: Mapping[str, Any]) -> None:
        """Write a document, as an application does."""

    def delete(self, document_id: str) -> None:
        """Delete a document."""

    def rows(self, ids: Sequence[str]) -> dict[str, LedgerRow]:
        """Return what the ledger knows about documents."""

    def tick(self) -> None:
        """Let some time pass, so that things can happen."""

    def search(self, query: str, most: int = 3) -> list[Hit]:
        """Search by meaning."""

    def chunks_paid(self) -> int:
        """Count the texts that the provider has been paid for."""

    def dead_letters(self) -> list[DeadLetter]:
        """List the dead letters."""

    def redrive(self) -> int:
        """Move the dead letters back to their lanes; return how many."""

    def set_provider(self, *, down: bool, refuses_poison: bool) -> None:
        """Break or heal the provider."""
