"""What smoke writes fits any source, and it asks before it writes to a table of others."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from functions.adapters.dynamodb_values import from_dynamodb
from functions.core.document import Document, Unusable, read_document
from functions.core.settings import MetadataType
from ops.deployment import Deployment
from ops.output import UsageError
from ops.smoke import smoke
from ops.smoke_items import smoke_item
from tests.builders import make_source

ARN = "arn:aws:cloudformation:eu-west-1:1:stack/embedq-prod/0"


def item_of(types: dict[str, str], **settings: Any) -> Any:
    """Make an item of a source."""
    source = make_source(key=tuple(types), **settings)
    return source, smoke_item(source, types, name="embedq-smoke-7", number=7)


@pytest.mark.parametrize(
    ("types", "name", "key"),
    [
        ({"id": "S"}, "embedq-smoke-7", {"id": "embedq-smoke-7"}),
        ({"id": "N"}, "7000000000000007", {"id": Decimal(7000000000000007)}),
        ({"id": "B"}, "ZW1iZWRxLXNtb2tlLTc=", {"id": b"embedq-smoke-7"}),
        (
            {"to": "S", "n": "N"},
            "embedq-smoke-7|7000000000000007",
            {"to": "embedq-smoke-7", "n": Decimal(7000000000000007)},
        ),
    ],
)
def test_item_fits_every_kind_of_key(types: dict[str, str], name: str, key: dict[str, Any]) -> None:
    """R40: one or two attributes, strings, numbers or bytes; the id is the one of the stream."""
    _, item = item_of(types, text="{body}")

    assert item.name == name
    assert from_dynamodb(item.key) == key


def test_text_is_embedded_and_a_map_is_rejected_before_anything_is_paid() -> None:
    """R40: by the source's own template."""
    source, item = item_of({"id": "S"}, text="{id}: {body}")

    good = read_document(from_dynamodb(item.with_text("hello")), source)
    bad = read_document(from_dynamodb(item.rejected()), source)

    assert isinstance(good, Document)
    assert good.text == "embedq-smoke-7: hello"
    assert isinstance(bad, Unusable)
    assert bad.invalid


@pytest.mark.parametrize("kind", ["long", "date", "boolean", "double"])
def test_attribute_that_is_more_than_text_is_left_alone(kind: MetadataType) -> None:
    """R40: a number or a date in the template, and the attributes that steer a document."""
    source, item = item_of(
        {"id": "S"},
        text="{id} {kind} {urgent} {off} {year} {body}",
        metadata={"year": kind},
        type_attribute="kind",
        priority_attribute="urgent",
        skip_attribute="off",
    )

    assert item.text_attribute == "body"
    assert isinstance(read_document(from_dynamodb(item.with_text("hello")), source), Document)


def test_source_without_an_attribute_for_text_is_refused() -> None:
    """R40: in words."""
    with pytest.raises(UsageError, match="has no attribute that is only text"):
        item_of({"id": "S"}, text="{id}")


def test_table_of_others_is_written_to_only_with_yes(deployment: Deployment) -> None:
    """R40: the stage's table was not made by its stack; nothing is written without an answer."""
    there = replace(deployment, stage="prod", stack_arn=ARN)

    proposal = smoke(there)

    assert proposal.documents == 2
    [question] = proposal.questions
    assert "of the stack embedq-prod in AWS, account 1, " in question
    assert "This is an existing table: others may use it." in question

    dynamodb = deployment.client("dynamodb")
    assert dynamodb.scan(TableName=deployment.source(None).table)["Items"] == []
