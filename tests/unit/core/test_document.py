"""Items -> documents: the text template, metadata types, skip flags and hashes."""

from decimal import Decimal
from typing import Any

import pytest

from functions.core.document import (
    Document,
    Unusable,
    chunk_hash,
    content_hash,
    read_document,
)
from tests.builders import make_source, make_target

AB = [("a", 1), ("b", 2)]


def test_template_makes_the_text() -> None:
    """R02: which attributes are the text is configuration."""
    source = make_source(text="{title}\n\n{body} (end)", type_attribute="kind")

    document = read_document({"title": "T", "body": "B", "kind": "note"}, source)

    assert document == Document("T\n\nB (end)", "note")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (Decimal("1.50"), "1.50"),
        (["one", "two"], "one\ntwo"),
        ({"b", "a"}, "a\nb"),
        ("\x00\x07 bell", "\x00\x07 bell"),
        ("👩‍👩‍👧 नमस्ते", "👩‍👩‍👧 नमस्ते"),
    ],
    ids=["string", "number", "list", "set", "control characters", "any script"],
)
def test_value_becomes_text(value: Any, text: str) -> None:
    """R02: strings, numbers, lists and sets can be text."""
    assert read_document({"body": value}, make_source()) == Document(text, "document")


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"body": {"a": 1}}, "attribute body is a map; a text is a string or a list"),
        ({"body": b"x"}, "attribute body is a binary value; a text is a string or a list"),
        ({"body": True}, "attribute body is a boolean; a text is a string or a list"),
        ({"body": "\ud800"}, "the text is not valid Unicode: it holds half a surrogate pair"),
        ({"body": "x", "kind": "\ud800"}, "attribute kind is not valid Unicode"),
        (
            {"body": "x", "kind": "ä" * 16_384},
            "attribute kind is longer than the 32,766 bytes that a type may have",
        ),
        ({"body": "x", "year": "soon"}, "metadata year is not a long: it is a string"),
        (
            {"body": "x", "year": Decimal("1.5")},
            "metadata year is not a long: it is a number with decimals, or too large",
        ),
        ({"body": "x", "year": {"of": 2}}, "metadata year is not a long: it is a map"),
    ],
    ids=[
        "map",
        "binary",
        "boolean",
        "not unicode",
        "type",
        "long type",
        "string",
        "fraction",
        "map as long",
    ],
)
def test_wrong_type_is_invalid_and_says_why(item: dict[str, Any], reason: str) -> None:
    """R02 R24: an item that can never be embedded tells the reason, not its content."""
    found = read_document(item, make_source(metadata={"year": "long"}, type_attribute="kind"))

    assert found == Unusable(reason, invalid=True, type="document")


@pytest.mark.parametrize(
    "item",
    [{}, {"body": ""}, {"body": " \n\t"}, {"body": []}],
    ids=["none", "empty", "blank", "[]"],
)
def test_item_without_text_is_skipped(item: dict[str, Any]) -> None:
    """R02: missing, empty and blank texts are no failure."""
    found = read_document(item, make_source())

    assert found == Unusable("the text is empty: '{body}' has nothing to show", type="document")


def test_words_of_the_template_alone_are_no_text() -> None:
    """R02: 'Title: ' with no title is empty."""
    assert isinstance(read_document({}, make_source(text="Title: {body}")), Unusable)


@pytest.mark.parametrize("flag", [True, "true", " TRUE ", "yes", "1", Decimal(1)], ids=str)
def test_skip_flag_skips(flag: Any) -> None:
    """R32: a document can ask not to be embedded."""
    found = read_document({"body": "x", "hidden": flag}, make_source(skip_attribute="hidden"))

    assert found == Unusable("attribute hidden asks to skip it", type="document")


@pytest.mark.parametrize("kind", ["\ud800", "x" * 32_767], ids=["not unicode", "long"])
def test_document_that_is_skipped_has_no_type_that_its_ledger_row_cannot_have(kind: str) -> None:
    """R04 R32: such a row could not be written, or its event not sent."""
    source = make_source(skip_attribute="hidden", type_attribute="kind")

    found = read_document({"body": "x", "hidden": True, "kind": kind}, source)

    assert found == Unusable("attribute hidden asks to skip it", type="document")


@pytest.mark.parametrize("flag", [False, "false", "", None, Decimal(0)], ids=str)
def test_unset_skip_flag_does_not_skip(flag: Any) -> None:
    """R32: only a set flag counts."""
    found = read_document({"body": "x", "hidden": flag}, make_source(skip_attribute="hidden"))

    assert found == Document("x", "document")


@pytest.mark.parametrize(
    ("kind", "value", "typed"),
    [
        ("keyword", "a", "a"),
        ("keyword", Decimal(5), "5"),
        ("keyword", {"b", "a"}, ["a", "b"]),
        ("keyword", ["b", "a"], ["b", "a"]),
        ("text", "a", "a"),
        ("text", Decimal(5), "5"),
        ("long", Decimal("7"), 7),
        ("long", Decimal(-(2**63)), -(2**63)),
        ("double", Decimal("1.5"), 1.5),
        ("boolean", False, False),
        ("date", "2026-01-02", "2026-01-02T00:00:00.000"),
        ("date", "2026-01-02 03:04:05+01:00", "2026-01-02T03:04:05.000+01:00"),
        ("date", Decimal(1700000000000), 1700000000000),
    ],
)
def test_metadata_gets_the_type_of_the_index(kind: str, value: Any, typed: Any) -> None:
    """R02: metadata is typed, so that a search can filter by it."""
    document = read_document({"body": "x", "field": value}, make_source(metadata={"field": kind}))

    assert document == Document("x", "document", {"field": typed})


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("date", "soon"),
        ("double", Decimal("1e400")),
        ("long", Decimal(2**63)),
        ("long", Decimal(-(2**63) - 1)),
        ("boolean", "x"),
        ("keyword", True),
        ("keyword", "\ud800"),
    ],
)
def test_metadata_that_the_index_would_refuse_is_invalid(kind: str, value: Any) -> None:
    """R24: found before anything is paid."""
    found = read_document({"body": "x", "field": value}, make_source(metadata={"field": kind}))

    assert isinstance(found, Unusable)
    assert found.invalid


def test_hash_does_not_depend_on_the_order_of_metadata() -> None:
    """R06: DynamoDB promises no order of attributes."""
    one, other = (Document("x", "document", dict(pairs)) for pairs in (AB, reversed(AB)))

    assert content_hash(one, make_target()) == content_hash(other, make_target())


@pytest.mark.parametrize(
    "other",
    [
        (Document("y", "document"), {}),
        (Document("x", "note"), {}),
        (Document("x", "document", {"a": 1}), {}),
        (Document("x", "document"), {"model": "other"}),
        (Document("x", "document"), {"dimensions": 8}),
        (Document("x", "document"), {"chunk_tokens": 100}),
        (Document("x", "document"), {"max_bytes_per_token": 1}),
        (Document("x", "document"), {"document_extra_body": {"task": "passage"}}),
        (Unusable("x"), {}),
    ],
    ids=[
        "text",
        "type",
        "metadata",
        "model",
        "dimensions",
        "chunking",
        "bytes",
        "body",
        "unusable",
    ],
)
def test_hash_tells_all_that_the_index_shows(other: tuple[Document, dict[str, Any]]) -> None:
    """R06: text, type, metadata, model, dimensions and chunking each count."""
    content, target = other
    same = content_hash(Document("x", "document"), make_target())

    assert content_hash(Document("x", "document"), make_target()) == same
    assert content_hash(content, make_target(**target)) != same


def test_vector_of_another_request_is_not_taken_for_this_one() -> None:
    """R06 R17: what a request says besides the text decides its vector."""
    one, other = ({"task": name} for name in ("passage", "query"))

    hashes = {chunk_hash("x", make_target(document_extra_body=body)) for body in ({}, one, other)}

    assert len(hashes) == 3
