"""The source port: the current items, in the order of the keys, whatever their number and size."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from functions.core.ports import NO_KEY
from tests.contract.engines import real
from tests.contract.source_engines import SourceEngine, source_engine

Key = dict[str, dict[str, str]]


@pytest.fixture(params=["memory", "moto", real("dynamodb-local")])
def engine(request: pytest.FixtureRequest) -> Iterator[SourceEngine]:
    with source_engine(request, request.param) as engine:
        yield engine


def read(engine: SourceEngine, name: str, *keys: Key) -> list[Any]:
    return list(engine.port.read(engine.sources[name], keys))


def text_key(name: str) -> Key:
    return {"id": {"S": name}}


def test_items_come_in_the_order_of_the_keys(engine: SourceEngine) -> None:
    """R02: BatchGetItem answers in any order."""
    for name in "abcde":
        engine.put("text", {"id": name, "body": name * 2})

    found = read(engine, "text", *map(text_key, "ecxad"))

    assert found == [
        {"id": "e", "body": "ee"},
        {"id": "c", "body": "cc"},
        None,
        {"id": "a", "body": "aa"},
        {"id": "d", "body": "dd"},
    ]


def test_key_asked_for_twice_is_answered_twice(engine: SourceEngine) -> None:
    """R10: BatchGetItem refuses a key that comes twice."""
    engine.put("text", {"id": "a"})

    assert read(engine, "text", *map(text_key, "axax")) == [{"id": "a"}, None] * 2


def test_nothing_asked_is_nothing_read(engine: SourceEngine) -> None:
    """R10: a batch without work of its own."""
    assert read(engine, "text") == []


def test_last_write_is_read(engine: SourceEngine) -> None:
    """R31: read consistently; an older text would end in the index under a newer version."""
    for number in range(20):
        engine.put("text", {"id": "a", "body": str(number)})

        assert read(engine, "text", text_key("a")) == [{"id": "a", "body": str(number)}]


def test_every_type_of_value(engine: SourceEngine) -> None:
    """R02: whatever an item holds beside its text."""
    item = {
        "id": "a",
        "text": "naïve ☃\x00\n👩‍👩‍👧",
        "number": Decimal("-1.5"),
        "large": Decimal("9" * 38),
        "yes": True,
        "nothing": None,
        "list": ["a", Decimal(1), [False]],
        "map": {"deep": {"deeper": "b"}},
        "strings": {"a", "b"},
        "numbers": {Decimal(1), Decimal("2.5")},
        "bytes": b"\x00\xff",
    }
    engine.put("text", item)

    assert read(engine, "text", text_key("a")) == [item]


def test_more_keys_than_one_call_takes(engine: SourceEngine) -> None:
    """R02: 100 keys are the limit of one call, not of a batch."""
    names = [f"d{number}" for number in range(230)]
    for name in names[::2]:
        engine.put("text", {"id": name})

    found = read(engine, "text", *map(text_key, names))

    assert found == [{"id": name} if n % 2 == 0 else None for n, name in enumerate(names)]


def test_more_bytes_than_one_answer_takes(engine: SourceEngine) -> None:
    """R02: an answer stops at 16 MB and leaves the rest of its keys unprocessed."""
    body = "x" * 390_000
    for number in range(44):
        engine.put("text", {"id": f"d{number}", "body": body})

    found = read(engine, "text", *(text_key(f"d{number}") for number in range(44)))

    assert [item and (item["id"], len(item["body"])) for item in found] == [
        (f"d{number}", len(body)) for number in range(44)
    ]


def test_composite_keys(engine: SourceEngine) -> None:
    """R02: both attributes make the key, in any order of spelling."""
    for number in (1, 2):
        engine.put("composite", {"tenant": "t", "number": number, "body": str(number)})

    found = read(
        engine,
        "composite",
        {"tenant": {"S": "t"}, "number": {"N": "2"}},
        {"number": {"N": "1"}, "tenant": {"S": "t"}},
        {"tenant": {"S": "u"}, "number": {"N": "1"}},
    )

    assert [item and item["body"] for item in found] == ["2", "1", None]


@pytest.mark.parametrize("number", ["0", "-7", "1.5", "123456789012345678901234567890.12345678"])
def test_number_keys(engine: SourceEngine, number: str) -> None:
    """R02: all 38 digits count."""
    engine.put("number", {"id": Decimal(number)})

    assert read(engine, "number", {"id": {"N": number}}) == [{"id": Decimal(number)}]


def test_binary_keys_are_base64_in_a_key(engine: SourceEngine) -> None:
    """R02: a stream event spells bytes in base64, and so does a task."""
    engine.put("binary", {"id": b"\x00\xffkey", "body": "found"})

    [found, absent] = read(engine, "binary", {"id": {"B": "AP9rZXk="}}, {"id": {"B": "AAAA"}})

    assert found is not None
    assert found["body"] == "found"
    assert absent is None


def test_key_of_other_attributes_fails_alone(engine: SourceEngine) -> None:
    """R07 R10: a task from before the source's key was changed is no deleted document."""
    engine.put("text", {"id": "a"})

    found = read(engine, "text", {"former": {"S": "a"}}, text_key("a"), {})

    assert found == [NO_KEY, {"id": "a"}, NO_KEY]


# moto finds no item where AWS refuses the key.
@pytest.mark.parametrize("engine", ["memory", real("dynamodb-local")], indirect=True)
def test_key_of_another_type_fails_alone(engine: SourceEngine) -> None:
    """R07 R10: BatchGetItem refuses all keys for one that is not of the table."""
    for name in "abcde":
        engine.put("text", {"id": name})
    keys = [text_key("a"), {"id": {"N": "1"}}, *map(text_key, "bxc"), {"id": {"B": "AAAA"}}]

    found = read(engine, "text", *keys)

    assert found == [{"id": "a"}, NO_KEY, {"id": "b"}, None, {"id": "c"}, NO_KEY]


@pytest.mark.parametrize("spelling", ["1.5", "1.50", "15e-1", "+1.5"])
def test_number_key_is_found_by_any_spelling(engine: SourceEngine, spelling: str) -> None:
    """R02: an operator may spell a key otherwise than the stream does."""
    engine.put("number", {"id": Decimal("1.500"), "body": "found"})

    assert read(engine, "number", {"id": {"N": spelling}}) == [
        {"id": Decimal("1.5"), "body": "found"}
    ]
