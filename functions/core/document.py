"""A document: the text, type and metadata of an item, by its source's settings."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from math import isfinite
from string import Formatter
from typing import Any

from functions.core.identity import is_unicode, tenant_group
from functions.core.settings import MetadataType, SourceSettings, TargetSettings

# Raise it when the hash or the chunker changes its meaning: every document is then indexed again.
HASH_SCHEME = "5"
# The longest term of OpenSearch. A longer type would not fit into an event or a ledger row either.
MAX_TYPE_BYTES = 32_766


@dataclass(frozen=True)
class Document:
    """What is embedded and found."""

    text: str
    type: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    chunk_prefix: str = ""  # embedded with every chunk
    tenant: str = ""  # the name of its message group; empty: it has none


@dataclass(frozen=True)
class Unusable:
    """An item that gives no document, and why; `invalid` ones need a person."""

    reason: str
    invalid: bool = False
    type: str = ""


class _InvalidError(ValueError):
    """An attribute has a type or value that its use does not allow."""


def read_document(item: Mapping[str, Any], source: SourceSettings) -> Document | Unusable:
    """Make the document of an item, or say why there is none."""
    named = str(item.get(source.type_attribute or "") or source.default_type)
    why_not = _why_no_type(named)
    kind = source.default_type if why_not else named
    if source.skip_attribute and _is_set(item.get(source.skip_attribute)):
        return Unusable(f"attribute {source.skip_attribute} asks to skip it", type=kind)
    if why_not:
        reason = f"attribute {source.type_attribute} is {why_not}"
        return Unusable(reason, invalid=True, type=kind)
    try:
        text = _render(source.text, item)
        chunk_prefix = _render(source.chunk_prefix or "", item)
        metadata = {
            name: _typed(name, item[name], kind_of)
            for name, kind_of in source.metadata.items()
            if item.get(name) is not None
        }
    except _InvalidError as error:
        return Unusable(str(error), invalid=True, type=kind)
    if not text.strip():
        return Unusable(f"the text is empty: {source.text!r} has nothing to show", type=kind)
    return Document(text, kind, metadata, chunk_prefix, tenant_of(item, source))


def tenant_of(item: Mapping[str, Any], source: SourceSettings) -> str:
    """Return the message group of an item's tenant; empty where it names none."""
    tenant = item.get(source.tenant_attribute) if source.tenant_attribute else None
    return tenant_group(str(tenant)) if isinstance(tenant, str | int | Decimal) else ""


def content_hash(content: Document | Unusable, target: TargetSettings) -> str:
    """Hash all that decides what the index holds for a document."""
    shown = (
        [content.text, content.type, content.metadata, content.chunk_prefix]
        if isinstance(content, Document)
        else [content.reason, content.invalid, content.type]
    )
    # The index too: a document that is unchanged in one is missing in another.
    made_by = [target.index, target.model, target.dimensions]
    asking = [target.document_prefix, target.document_extra_body]
    chunking = [target.chunk_tokens, target.max_bytes_per_token, target.max_chunks]
    return _hash([HASH_SCHEME, shown, *made_by, *asking, *chunking])


def chunk_hash(text: str, target: TargetSettings) -> str:
    """Hash all that decides a vector, so that an unchanged chunk is never paid again.

    The text is what is embedded, prefixes included.
    """
    return _hash([text, target.model, target.dimensions, target.document_extra_body])


def _hash(parts: list[object]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _why_no_type(name: str) -> str | None:
    if not is_unicode(name):
        return "not valid Unicode"
    if len(name.encode()) > MAX_TYPE_BYTES:
        return f"longer than the {MAX_TYPE_BYTES:,} bytes that a type may have"
    return None


def _is_set(value: object) -> bool:
    return value.strip().lower() in ("true", "1", "yes") if isinstance(value, str) else bool(value)


def _render(template: str, item: Mapping[str, Any]) -> str:
    parts = [
        (literal, "" if name is None else _text_of(name, item.get(name)))
        for literal, name, _, _ in Formatter().parse(template)
    ]
    text = "".join(literal + value for literal, value in parts)
    if not is_unicode(text):
        raise _InvalidError("the text is not valid Unicode: it holds half a surrogate pair")
    # A template's own words alone are no text.
    return text if any(value.strip() for _, value in parts) else ""


def _text_of(name: str, value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            raise _InvalidError(f"attribute {name} is a boolean; a text is a string or a list")
        case int() | Decimal():
            return str(value)
        case list() | tuple():
            return "\n".join(_text_of(name, part) for part in value)
        case set() | frozenset():
            return "\n".join(sorted(_text_of(name, part) for part in value))
        case _:
            kind = "map" if isinstance(value, dict) else "binary value"
            raise _InvalidError(f"attribute {name} is a {kind}; a text is a string or a list")


def _typed(name: str, value: object, kind: MetadataType) -> object:
    if isinstance(value, (list, tuple)):
        return [_typed(name, part, kind) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_typed(name, part, kind) for part in value), key=str)
    typed = _scalar(value, kind)
    if typed is None:
        raise _InvalidError(f"metadata {name} is not a {kind}: it is {_described(value, kind)}")
    return typed


def _described(value: object, kind: MetadataType) -> str:
    """Say what a value is, and not which."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string that is no date" if kind == "date" else "a string"
        case int() | Decimal():
            is_whole = kind in ("long", "date")
            return "a number with decimals, or too large" if is_whole else "a number"
        case dict():
            return "a map"
        case _:
            return "a binary value"


def _scalar(value: object, kind: MetadataType) -> object:
    """Convert to what the index accepts for the type, or None."""
    if isinstance(value, bool):
        return value if kind == "boolean" else None
    if isinstance(value, str):
        return _from_string(value, kind)
    if isinstance(value, int | Decimal):
        return _from_number(value, kind)
    return None


def _from_string(value: str, kind: MetadataType) -> str | None:
    if kind == "date":
        return _date(value)
    return value if kind in ("keyword", "text") and is_unicode(value) else None


def _from_number(value: int | Decimal, kind: MetadataType) -> str | int | float | None:
    match kind:
        case "keyword" | "text":
            return str(value)
        case "long" | "date":
            return int(value) if value == int(value) and -(2**63) <= value < 2**63 else None
        case "double":
            return float(value) if isfinite(float(value)) else None
        case "boolean":
            return None


def _date(text: str) -> str | None:
    """Spell a date as the index wants it: Python reads more spellings than OpenSearch."""
    try:
        return datetime.fromisoformat(text).isoformat(timespec="milliseconds")
    except ValueError:
        return None
