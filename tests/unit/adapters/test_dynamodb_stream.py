"""Stream records as Lambda brings them: good ones, keys only, and every bad one."""

from typing import Any

import pytest

from functions.adapters.dynamodb_stream import UnknownTableError, parse_records
from functions.core.change import Change, Position, Rejected
from functions.core.document import Document, Unusable
from functions.core.identity import DocumentId
from tests.builders import make_source

LABEL = "2026-01-01T00:00:00.000"
ARN = f"arn:aws:dynamodb:eu-central-1:123456789012:table/articles-table/stream/{LABEL}"
NUMBER = "100000000000000000001"
SOURCE = make_source(
    metadata={"year": "long"},
    type_attribute="kind",
    priority_attribute="priority",
    tenant_attribute="customer",
)


def record(**changes: Any) -> dict[str, Any]:
    data = {
        "ApproximateCreationDateTime": 1_700_000_000.0,
        "Keys": {"id": {"S": "a"}},
        "NewImage": {"id": {"S": "a"}, "body": {"S": "hello"}},
        "SequenceNumber": NUMBER,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    whole = {
        "eventID": "e1",
        "eventName": "MODIFY",
        "eventSource": "aws:dynamodb",
        "eventSourceARN": ARN,
        "dynamodb": data | changes.pop("data", {}),
    }
    return whole | changes


def without(*names: str, of: str | None = None) -> dict[str, Any]:
    whole = record()
    part = whole[of] if of else whole
    for name in names:
        del part[name]
    return whole


def parse(*records: dict[str, Any]) -> tuple[list[Change], list[Rejected]]:
    return parse_records(records, [SOURCE])


def test_record_becomes_a_change() -> None:
    """R02: key, position, time and content, by the source's settings."""
    image = {
        "id": {"S": "a"},
        "body": {"S": "hello"},
        "kind": {"S": "note"},
        "year": {"N": "2026"},
        "priority": {"S": "high"},
        "customer": {"S": "acme"},
    }

    assert parse(record(eventName="INSERT", data={"NewImage": image})) == (
        [
            Change(
                source="articles",
                document_id=DocumentId("a"),
                key={"id": {"S": "a"}},
                position=Position(LABEL, NUMBER.zfill(40)),
                sequence_number=NUMBER,
                written_ms=1_700_000_000_000,
                removed=False,
                inserted=True,
                content=Document("hello", "note", {"year": 2026}, tenant="acme"),
                priority="high",
                tenant="acme",
            )
        ],
        [],
    )


def test_keys_only_stream_says_nothing_of_the_content() -> None:
    """R02: an existing table may have such a stream; the text is read when the task is worked."""
    [change], rejected = parse(without("NewImage", of="dynamodb"))

    assert (change.content, change.priority, change.tenant) == (None, None, None)
    assert not change.removed
    assert rejected == []


def test_removal_has_no_content() -> None:
    """R07: whatever the stream's view."""
    [change], _ = parse(record(eventName="REMOVE", data={"NewImage": None}))

    assert (change.removed, change.inserted, change.content) == (True, False, None)


@pytest.mark.parametrize(
    ("value", "tenant"),
    [({"N": "7"}, "7"), ({"S": ""}, ""), ({"SS": ["a", "b"]}, ""), ({"BOOL": True}, "True")],
)
def test_tenant_is_a_text_or_a_number(value: dict[str, Any], tenant: str) -> None:
    """R19: anything else is no tenant, and never keeps a document from its lane."""
    image = {"id": {"S": "a"}, "body": {"S": "hello"}, "customer": value}

    [change], rejected = parse(record(data={"NewImage": image}))

    assert (change.tenant, rejected) == (tenant, [])


def test_bytes_in_an_image_harm_nothing() -> None:
    """R02: a stream event spells them in base64, alone, in sets and deep inside."""
    image = {
        "id": {"S": "a"},
        "body": {"S": "hello"},
        "picture": {"B": "AP8="},
        "pictures": {"BS": ["AP8=", "AAAA"]},
        "deep": {"M": {"list": {"L": [{"B": "AP8="}, {"NULL": True}]}}},
    }

    changes, rejected = parse(record(data={"NewImage": image}))

    assert [change.content for change in changes] == [Document("hello", "document")]
    assert rejected == []


def test_bytes_as_a_key_stay_as_they_are_spelt() -> None:
    """R02: the key of a task is JSON, too."""
    [change], _ = parse(record(data={"Keys": {"id": {"B": "AP8="}}}))

    assert (change.document_id, change.key) == ("AP8=", {"id": {"B": "AP8="}})


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no keys": (without("Keys", of="dynamodb"), "the record has no Keys"),
    "no data": (without("dynamodb"), "the record has no Keys"),
    "no event name": (without("eventName"), "the record has no eventName"),
    "other event": (
        record(eventName="TRUNCATE"),
        "the record is a TRUNCATE, not an INSERT, MODIFY or REMOVE",
    ),
    "no sequence number": (
        without("SequenceNumber", of="dynamodb"),
        "the record has no SequenceNumber",
    ),
    "no time": (
        without("ApproximateCreationDateTime", of="dynamodb"),
        "the record has no ApproximateCreationDateTime",
    ),
    "time in words": (
        record(data={"ApproximateCreationDateTime": "yesterday"}),
        "the record has a value that DynamoDB does not know (ValueError)",
    ),
    "empty key": (
        record(data={"Keys": {}}),
        "the item's key has [], the source is configured with ['id']",
    ),
    "other key": (
        record(data={"Keys": {"other": {"S": "a"}}}),
        "the item's key has ['other'], the source is configured with ['id']",
    ),
    "key without a value": (
        record(data={"Keys": {"id": {}}}),
        "key attribute id is not a string, number or binary value",
    ),
    "key of another type": (
        record(data={"Keys": {"id": {"BOOL": True}}}),
        "key attribute id is not a string, number or binary value",
    ),
    "key that is no text": (
        record(data={"Keys": {"id": {"S": 5}}}),
        "key attribute id is not a string, number or binary value",
    ),
    "key that is no map": (
        record(data={"Keys": {"id": "a"}}),
        "key attribute id is not a string, number or binary value",
    ),
    "keys that are no map": (
        record(data={"Keys": "a"}),
        "the record has a value that DynamoDB does not know (AttributeError)",
    ),
    "half a surrogate pair in the key": (
        record(data={"Keys": {"id": {"S": "\ud83d"}}}),
        "the item's key is not valid Unicode",
    ),
    "unknown type in the image": (
        record(data={"NewImage": {"body": {"X": "secret"}}}),
        "the record has a value that DynamoDB does not know (TypeError)",
    ),
    "number of 40 digits": (
        record(data={"NewImage": {"body": {"N": "1" * 40}}}),
        "the record has a value that DynamoDB does not know (Inexact)",
    ),
    "bytes that are no base64": (
        record(data={"NewImage": {"body": {"B": "secret!"}}}),
        "the record has a value that DynamoDB does not know (Error)",
    ),
    "image that is no map": (
        record(data={"NewImage": ["secret"]}),
        "the record has a value that DynamoDB does not know (AttributeError)",
    ),
    "value that is no map": (
        record(data={"NewImage": {"body": "secret"}}),
        "the record has a value that DynamoDB does not know (AttributeError)",
    ),
}


@pytest.mark.parametrize(("bad", "reason"), BAD.values(), ids=BAD.keys())
def test_bad_record_is_rejected_alone(bad: dict[str, Any], reason: str) -> None:
    """R10: with a reason that quotes no content, and without blocking the others."""
    number = bad.get("dynamodb", {}).get("SequenceNumber", "")

    changes, rejected = parse(record(), bad, record())

    assert len(changes) == 2
    assert rejected == [Rejected("articles", "e1", Position(LABEL, number.zfill(40)), reason)]


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (
            {"body": {"S": "half \ud83d pair"}},
            "the text is not valid Unicode: it holds half a surrogate pair",
        ),
        (
            {"body": {"M": {}}},
            "attribute body is a map; a text is a string or a list",
        ),
        (
            {"body": {"B": "AP8="}},
            "attribute body is a binary value; a text is a string or a list",
        ),
        (
            {"body": {"S": "hello"}, "year": {"S": "MMXXVI"}},
            "metadata year is not a long: it is a string",
        ),
    ],
    ids=["surrogate", "map", "binary", "metadata"],
)
def test_content_that_cannot_be_used_is_a_change_with_its_reason(
    image: dict[str, Any], reason: str
) -> None:
    """R24: the document is known, so that its row says what is wrong."""
    [change], rejected = parse(record(data={"NewImage": {"id": {"S": "a"}, **image}}))

    assert change.content == Unusable(reason, invalid=True, type="document")
    assert rejected == []


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:dynamodb:eu-central-1:123456789012:table/other/stream/x",
        "arn:aws:sqs:eu-central-1:123456789012:queue",
        "nonsense",
        None,
    ],
)
def test_record_of_an_unknown_table_is_a_mistake_of_the_set_up(arn: str | None) -> None:
    """R02: no source, so no row could tell of it; the mapping keeps the record for a replay."""
    with pytest.raises(UnknownTableError, match=r"no source has the table|is not the ARN"):
        parse(record(eventSourceARN=arn))


def test_several_sources_are_distinguished_by_their_tables() -> None:
    """R02: several sources in one stack."""
    other = make_source(name="messages", table="messages-table", key=("room", "number"))
    key = {"room": {"S": "a|b"}, "number": {"N": "7"}}
    theirs = record(
        eventSourceARN=ARN.replace("articles-table", "messages-table"),
        data={"Keys": key, "NewImage": {**key, "body": {"S": "hi"}}},
    )

    changes, _ = parse_records([record(), theirs], [SOURCE, other])

    assert [(change.source, change.document_id) for change in changes] == [
        ("articles", "a"),
        ("messages", "a%7Cb|7"),
    ]
