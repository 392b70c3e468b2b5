"""Items that fit any source: its key, its text, its metadata. Pure."""

from collections.abc import Mapping
from decimal import Decimal
from string import Formatter
from typing import Any

from functions.core.settings import MetadataType, SourceSettings
from ops.demo.corpus import fables

KeyTypes = Mapping[str, str]  # attribute -> S, N or B
Item = dict[str, Any]


def sample_item(source: SourceSettings, key: KeyTypes, number: int) -> Item:
    """Make an item of a source; each number makes another key and another text."""
    fable = fables()[number % len(fables())]
    item = _fixed(source, key, number)
    free = free_fields(source)
    # The last attribute of a text is mostly its longest.
    item |= dict.fromkeys(free[:-1], fable["title"])
    item |= dict.fromkeys(free[-1:], fable["body"])
    return item


def edited(source: SourceSettings, item: Item, number: int) -> Item:
    """Give an item the text of another number."""
    fable = fables()[number % len(fables())]
    return {**item, **dict.fromkeys(free_fields(source)[-1:], fable["body"])}


def free_fields(source: SourceSettings) -> list[str]:
    """Return the attributes of the text that may hold any words."""
    fields = dict.fromkeys(name for _, name, _, _ in Formatter().parse(source.text) if name)
    bound = {*source.key, source.type_attribute, source.priority_attribute, source.skip_attribute}
    typed = {name for name, kind in source.metadata.items() if kind not in ("keyword", "text")}
    return [name for name in fields if name not in bound | typed]


def _fixed(source: SourceSettings, key: KeyTypes, number: int) -> Item:
    """Return what the stage decides: key, metadata, type and priority."""
    item: Item = {name: _metadata(kind, number) for name, kind in source.metadata.items()}
    if source.type_attribute is not None:
        item[source.type_attribute] = source.default_type
    if source.priority_attribute is not None:
        item[source.priority_attribute] = "normal"
    # A key may be metadata too, and is a key first.
    return item | {name: _key_value(kind, number) for name, kind in key.items()}


def _key_value(kind: str, number: int) -> object:
    return {"N": number, "B": f"demo-{number}".encode()}.get(kind, f"demo-{number}")


def _metadata(kind: MetadataType, number: int) -> object:
    values: dict[str, object] = {
        "long": number,
        "double": Decimal(number) / 2,
        "boolean": number % 2 == 0,
        "date": f"2026-01-{number % 28 + 1:02}",
    }
    return values.get(kind, f"demo {number}")
