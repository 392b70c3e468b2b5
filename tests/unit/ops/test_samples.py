"""Items of the demo on any stage: whatever the source asks for, they make documents."""

from typing import Any

import pytest

from functions.adapters.dynamodb_values import event_key, from_dynamodb, to_dynamodb
from functions.core.document import Document, read_document
from functions.core.identity import document_id
from functions.core.settings import SourceSettings
from ops.demo.samples import edited, free_fields, sample_item
from tests.builders import make_source

EVERY_TYPE: dict[str, Any] = {
    "k": "keyword",
    "t": "text",
    "l": "long",
    "d": "double",
    "b": "boolean",
    "at": "date",
}
MARKED = {"type_attribute": "kind", "priority_attribute": "priority", "skip_attribute": "skip"}
SOURCES = {
    "standard": (make_source(), {"id": "S"}),
    "number": (make_source(key=("n",), text="{n}. {name}"), {"n": "N"}),
    "composite": (make_source(key=("hash", "at"), text="{body}"), {"hash": "B", "at": "N"}),
    "typed": (make_source(metadata=EVERY_TYPE, text="{t} and {l}, {d}, {at}: {k}"), {"id": "S"}),
    "no free words": (make_source(type_attribute="kind", text="{kind} {id}"), {"id": "S"}),
    "marked": (make_source(**MARKED, text="{priority} {skip} {body}"), {"id": "S"}),
    "key alone": (make_source(metadata={"n": "long"}, key=("n",), text="{n}"), {"n": "N"}),
}
each = pytest.mark.parametrize(("source", "key"), SOURCES.values(), ids=SOURCES)


@each
def test_sample_makes_a_document_of_any_source(source: SourceSettings, key: dict[str, str]) -> None:
    """R53 R81: as DynamoDB gives it back, with every metadata and an id of its own."""
    stored = [to_dynamodb(sample_item(source, key, number)) for number in (1, 2, 29)]

    for item in stored:
        document = read_document(from_dynamodb(item), source)
        assert isinstance(document, Document), document
        assert set(document.metadata) == set(source.metadata)
        assert {name: next(iter(item[name])) for name in key} == key
    ids = {document_id(event_key(item, source.key), source.key) for item in stored}
    assert len(ids) == len(stored)


@each
def test_edited_sample_has_the_same_key_and_another_text(
    source: SourceSettings, key: dict[str, str]
) -> None:
    """R53 R81: where the text has an attribute that may hold any words."""
    item = sample_item(source, key, 1)

    changed = edited(source, item, 2)

    assert [changed[name] for name in key] == [item[name] for name in key]
    before, after = read_document(item, source), read_document(changed, source)
    assert isinstance(before, Document)
    assert isinstance(after, Document)
    assert (before.text != after.text) is bool(free_fields(source))
