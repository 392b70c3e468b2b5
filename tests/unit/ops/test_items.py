"""The key of a document by what a person writes: spelled as DynamoDB has it."""

import pytest

from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.identity import DocumentId
from functions.core.ledger_row import Status
from ops.deployment import Deployment
from ops.items import read_key, spell_number
from ops.output import UsageError
from tests.builders import make_row, make_task


# As DynamoDB Local answers with each of them.
@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("8", "8"),
        ("8.0", "8"),
        ("09", "9"),
        ("+9", "9"),
        ("-007.50", "-7.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("0.10", "0.1"),
        ("100", "100"),
        ("1E2", "100"),
        ("1.5e+3", "1500"),
        ("-1E-7", "-0.0000001"),
        ("-0", "0"),
        ("0.00", "0"),
        ("0E-999999999", "0"),
        ("1E+50", "1" + 50 * "0"),
        ("9.9e125", "99" + 124 * "0"),
        ("1e-130", "0." + 129 * "0" + "1"),
        ("-" + 38 * "7", "-" + 38 * "7"),
        ("0." + 38 * "7", "0." + 38 * "7"),
        ("1" + 40 * "0", "1" + 40 * "0"),
    ],
)
def test_number_is_spelled_as_dynamodb_does(written: str, spelled: str) -> None:
    """R07: by its value, with all digits and none too many."""
    assert spell_number(written) == spelled


@pytest.mark.parametrize(
    "written",
    [
        *("", "a", "0x1", "1_000", " 7", "7\n", "1e", ".", "NaN", "Infinity"),
        *("1E126", "1E-131", "1E999999999", "1E" + 30 * "9", 39 * "7", "0." + 39 * "7"),
    ],
)
def test_what_dynamodb_refuses_is_no_number(written: str) -> None:
    """R40: so that it can be said before DynamoDB is asked; without filling the memory."""
    assert spell_number(written) is None


@pytest.mark.parametrize(
    ("source", "written", "name", "key"),
    [
        ("articles", "8.0", "8.0", {"id": {"S": "8.0"}}),
        ("numbers", "8.0", "8", {"id": {"N": "8"}}),
        ("numbers", "1E+2", "100", {"id": {"N": "100"}}),
        ("messages", "c1|07", "c1|7", {"conversation": {"S": "c1"}, "number": {"N": "7"}}),
        ("messages", "a|b|7.0", "a%7Cb|7", {"conversation": {"S": "a|b"}, "number": {"N": "7"}}),
        ("files", "aGk=", "aGk=", {"id": {"B": b"hi"}}),
    ],
)
def test_document_has_one_id_however_its_key_is_written(
    several: Deployment, source: str, written: str, name: str, key: dict[str, dict[str, object]]
) -> None:
    """R07 R40: that of its change in the stream, by which a delete finds it."""
    assert read_key(several, several.source(source), written) == (name, key)


def test_item_is_found_by_another_spelling_of_its_number(several: Deployment) -> None:
    """R40: the one of several that there is."""
    item = {"conversation": "a|1", "number": 7, "body": "hello"}
    table = several.source("messages").table
    several.dynamodb.put_item(TableName=table, Item=to_dynamodb(item))

    assert read_key(several, several.source("messages"), "a|1|7.0")[0] == "a%7C1|7"


def test_item_is_found_by_the_id_that_a_search_prints(several: Deployment) -> None:
    """R40: an id spells a | in a value otherwise."""
    item = {"conversation": "50%|1", "number": 7, "body": "hello"}
    source = several.source("messages")
    several.dynamodb.put_item(TableName=source.table, Item=to_dynamodb(item))

    name, key = read_key(several, source, "50%25%7C1|7")

    assert (name, key["conversation"]) == ("50%25%7C1|7", {"S": "50%|1"})


def test_deleted_item_is_the_one_that_the_ledger_knows(several: Deployment) -> None:
    """R40: of the keys that the words may mean."""
    source = several.source("messages")
    task = make_task(source="messages", document_id=DocumentId("a%7C1|7"))
    several.ledger.write([make_row(task=task, revision=0, status=Status.DELETED)])

    assert read_key(several, source, "a%7C1|7")[0] == "a%7C1|7"


@pytest.mark.parametrize(
    ("source", "written", "expected"),
    [
        ("numbers", "eight", "ID (a number)"),
        ("numbers", "1E126", "ID (a number)"),
        ("articles", "", "ID (a text)"),
        ("files", "hi!", "ID (bytes in base64)"),
        ("files", "\u00e9", "ID (bytes in base64)"),
        ("messages", "c1|x", "CONVERSATION (a text)|NUMBER (a number)"),
        ("messages", "c1", "CONVERSATION (a text)|NUMBER (a number)"),
    ],
)
def test_what_is_no_key_is_refused(
    several: Deployment, source: str, written: str, expected: str
) -> None:
    """R40: with what a key of this table is."""
    settings = several.source(source)

    with pytest.raises(UsageError) as caught:
        read_key(several, settings, written)

    assert caught.value.message == (
        f"{written!r} is no key of table {settings.table}: it is {expected}"
    )
