"""Items of a table that is read as a whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from functions.core.failure import FailureError
from functions.core.identity import DocumentId, ItemKey


class RefusedStartError(FailureError):
    """A scan was to go on behind a key that the table cannot have: it is another table now."""


@dataclass(frozen=True)
class ScannedItem:
    """An item with its key and the id of its document."""

    document_id: DocumentId
    key: ItemKey
    item: Mapping[str, Any]


@dataclass(frozen=True)
class ScannedPage:
    """A page of a scan; `last` is where the next one begins, None after the last page."""

    items: Sequence[ScannedItem]
    last: ItemKey | None
