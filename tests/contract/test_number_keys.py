"""Numbers in keys: our spelling is that of DynamoDB, by which a document is known."""

from random import Random
from typing import Any
from uuid import uuid4

import pytest

from ops.items import spell_number
from tests.contract.engines import aws_client

NUMBERS = 100


def written(random: Random) -> str:
    """Write a number in one of the ways that a person may."""
    digits = str(random.randrange(10 ** random.randrange(1, 30)))
    place = random.randrange(len(digits) + 1)
    with_point = random.choice([digits, f"{digits[:place]}.{digits[place:]}"])
    sign = random.choice(["", "-", "+", "0", "-00"])
    exponent = random.choice(["", "e5", "E-7", "e+90", "E-100"])
    return f"{sign}{with_point}{random.choice(['', '0', '000'])}{exponent}"


@pytest.mark.engines
def test_number_is_spelled_as_dynamodb_stores_it(request: pytest.FixtureRequest) -> None:
    """R07: another spelling would be a second document, which no delete reaches."""
    random = Random(1)
    numbers = {written(random) for _ in range(NUMBERS)}
    with aws_client(
        request, "dynamodb", engine="dynamodb-local", fixture="dynamodb_url"
    ) as dynamodb:
        table = f"numbers-{uuid4()}"
        dynamodb.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        )

        stored = {number: _stored(dynamodb, table, number) for number in numbers}

    assert {number: spell_number(number) for number in numbers} == stored


def _stored(dynamodb: Any, table: str, number: str) -> str:
    key = {"id": {"N": number}}
    dynamodb.put_item(TableName=table, Item=key)
    found: str = dynamodb.get_item(TableName=table, Key=key)["Item"]["id"]["N"]
    return found
