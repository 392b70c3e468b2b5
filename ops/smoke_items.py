"""What smoke writes to a user's table: items that fit its key and its template. Pure."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from functions.adapters.dynamodb_values import to_dynamodb, with_bytes
from functions.core.identity import DocumentId, document_id
from functions.core.settings import SourceSettings
from ops.output import UsageError

# A number has no prefix: these are far from what counts up from one.
FIRST_NUMBER = 7_000_000_000_000_000


@dataclass(frozen=True)
class SmokeItem:
    """One item of smoke's own."""

    name: DocumentId
    key: Mapping[str, Any]  # as DynamoDB spells it
    text_attribute: str

    def with_text(self, text: str) -> dict[str, Any]:
        """Return the item with a text that is embedded."""
        return {**self.key, **to_dynamodb({self.text_attribute: text})}

    def rejected(self) -> dict[str, Any]:
        """Return the item with a map for a text: it is rejected before anything is paid."""
        return {**self.key, **to_dynamodb({self.text_attribute: {"not": "a text"}})}


def smoke_item(
    source: SourceSettings, types: Mapping[str, str], *, name: str, number: int
) -> SmokeItem:
    """Make an item by a name and a number; `types` are those of the key's attributes."""
    # As a stream spells it, where bytes are base64: the id is made of that.
    values = {
        "S": name,
        "N": str(FIRST_NUMBER + number),
        "B": base64.b64encode(name.encode()).decode(),
    }
    key = {part: {types[part]: values[types[part]]} for part in source.key}
    return SmokeItem(document_id(key, source.key), with_bytes(key), _text_attribute(source))


def _text_attribute(source: SourceSettings) -> str:
    """Choose an attribute that makes the text, and means nothing else."""
    named = [name for _, name, _, _ in Formatter().parse(source.text) if name]
    taken = {
        *source.key,
        *(name for name, kind in source.metadata.items() if kind not in ("keyword", "text")),
        source.type_attribute,
        source.priority_attribute,
        source.skip_attribute,
    }
    free = [name for name in named if name not in taken]
    if not free:
        raise UsageError(
            f"smoke cannot write to source {source.name}: its text {source.text!r} has no attribute"
            " that is only text"
        )
    return free[0]
