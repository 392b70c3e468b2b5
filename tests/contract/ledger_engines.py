"""The ledger on each engine: the port, and what a test needs beside it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from functions.adapters.dynamodb_ledger import DynamoDbLedger
from functions.core.identity import RowKey
from functions.core.ports import Ledger
from local.memory.ledger import MemoryLedger
from tests.contract.engines import aws_client
from tests.ledger_table import create_ledger_table


@dataclass(frozen=True)
class LedgerEngine:
    """A ledger, and how time to live takes a row away."""

    ledger: Ledger
    expire: Callable[[RowKey], Any]


@dataclass(frozen=True)
class LedgerTable:
    """The table behind a ledger."""

    client: Any
    name: str

    @property
    def ledger(self) -> DynamoDbLedger:
        return DynamoDbLedger(self.client, self.name)

    def expire(self, key: RowKey) -> None:
        # No engine here deletes by time to live; on AWS a delete is what it does.
        self.client.delete_item(TableName=self.name, Key={"row_key": {"S": key}})


@contextmanager
def ledger_table(request: pytest.FixtureRequest, engine: str) -> Iterator[LedgerTable]:
    """Create a ledger's table with its sparse index."""
    with aws_client(request, "dynamodb", engine=engine, fixture="dynamodb_url") as dynamodb:
        name = f"ledger-{uuid4()}"
        create_ledger_table(dynamodb, name)
        yield LedgerTable(dynamodb, name)


@contextmanager
def ledger_engine(request: pytest.FixtureRequest, engine: str) -> Iterator[LedgerEngine]:
    """Make an empty ledger."""
    if engine == "memory":
        memory = MemoryLedger()
        yield LedgerEngine(memory, memory.rows.pop)
    else:
        with ledger_table(request, engine) as table:
            yield LedgerEngine(table.ledger, table.expire)
