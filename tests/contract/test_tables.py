"""Tables by the ids of documents: also those of a table that the source had before."""

from uuid import uuid4

import pytest

from functions.adapters.dynamodb_source import DynamoDbSource
from functions.adapters.dynamodb_table import DynamoDbTable
from functions.core.identity import DocumentId
from functions.core.ports import NO_KEY
from tests.builders import make_source
from tests.contract.engines import aws_client
from tests.contract.source_engines import TABLES, create


@pytest.mark.parametrize(
    ("name", "former"),
    [
        ("number", "abc"),
        ("number", "9" * 39),
        ("binary", "no base64"),
        ("composite", "a"),
        ("composite", "a|b"),
        ("composite", "a|1|c"),
    ],
)
@pytest.mark.engines
def test_id_that_is_no_key_of_the_table_names_no_item(
    request: pytest.FixtureRequest, name: str, former: str
) -> None:
    """R45 R56: an entry that another table has left is an orphan, and fails no comparison."""
    source = make_source(name=name, table=f"{name}-{uuid4()}", key=tuple(TABLES[name]))
    with aws_client(
        request, "dynamodb", engine="dynamodb-local", fixture="dynamodb_url"
    ) as dynamodb:
        create(dynamodb, source.table, TABLES[name])
        table = DynamoDbTable(dynamodb)

        assert table.read(source, [DocumentId(former)]) == {}

        # What is owed for it is refused as a key, not as the table's failure.
        [found] = DynamoDbSource(dynamodb).read(source, [table.key_of(source, DocumentId(former))])
        assert found == NO_KEY
