"""What is spelled without boto3 is spelled as boto3 does it."""

from decimal import Decimal
from typing import Any

import pytest
from boto3.dynamodb.types import TypeSerializer
from hypothesis import given
from hypothesis import strategies as st

from functions.adapters.dynamodb_values import from_dynamodb, to_dynamodb

PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False, allow_infinity=False, places=3)
)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)
LONGEST = 10**38 - 1


def spelled(value: object) -> Any:
    return to_dynamodb({"value": value})["value"]


@given(VALUES)
def test_values_are_spelled_as_boto3_spells_them(value: Any) -> None:
    """R28: also those inside of others."""
    try:
        wanted = TypeSerializer().serialize(value)
    except ArithmeticError:
        with pytest.raises(ArithmeticError):
            spelled(value)
    else:
        assert spelled(value) == wanted


@pytest.mark.parametrize("number", [LONGEST, -LONGEST, Decimal(LONGEST)])
def test_longest_number_is_spelled_whole(number: int | Decimal) -> None:
    """R28: DynamoDB keeps 38 digits."""
    assert spelled(number) == {"N": str(number)}


@pytest.mark.parametrize("number", ["1E+120", "-12.5E+60", "9.9E+125"])
def test_number_that_dynamodb_writes_out_is_read_and_spelled(number: str) -> None:
    """R02 R35: it comes with all its zeros; unread, no page of its table could be read."""
    written_out = f"{Decimal(number):f}"
    assert len(written_out) > len(str(LONGEST))

    read = from_dynamodb({"one": {"N": written_out}, "all": {"NS": [written_out]}})

    assert read == {"one": Decimal(number), "all": {Decimal(number)}}
    assert Decimal(spelled(read["one"])["N"]) == Decimal(number)


@pytest.mark.parametrize("form", ["E", "f"])
def test_smallest_numbers_of_all_digits_are_read(form: str) -> None:
    """R02 R10: unread, all documents of a run would fail with the one that holds it."""
    number = Decimal("1.2345678901234567890123456789012345678E-130")

    assert from_dynamodb({"one": {"N": f"{number:{form}}"}}) == {"one": number}


def test_number_of_more_digits_than_dynamodb_has_is_refused() -> None:
    """R02: it does not come from there."""
    with pytest.raises(ArithmeticError):
        from_dynamodb({"one": {"N": "1" * 39}})


@pytest.mark.parametrize("number", [LONGEST + 2, -LONGEST - 2, 1.5])
def test_number_that_would_be_rounded_is_refused(number: float) -> None:
    """R28: before anything is written."""
    with pytest.raises((ArithmeticError, TypeError)):
        spelled(number)
