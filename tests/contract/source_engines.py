"""The user's tables on each engine: the port, and writing items as an application does."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from functions.adapters.dynamodb_source import DynamoDbSource
from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.ports import Source
from functions.core.settings import SourceSettings
from local.memory.runtime import MovableClock
from local.memory.table import MemorySource, MemoryTable
from tests.builders import make_source
from tests.contract.engines import aws_client

# Each table is a source of its own: its key attributes and their types.
TABLES: Mapping[str, Mapping[str, str]] = {
    "text": {"id": "S"},
    "number": {"id": "N"},
    "binary": {"id": "B"},
    "composite": {"tenant": "S", "number": "N"},
}


@dataclass(frozen=True)
class SourceEngine:
    """One source per kind of key, and how an application writes to it."""

    port: Source
    sources: Mapping[str, SourceSettings]
    put: Callable[[str, Mapping[str, Any]], None]


@contextmanager
def source_engine(request: pytest.FixtureRequest, engine: str) -> Iterator[SourceEngine]:
    """Make the tables, all empty."""
    sources = {
        name: make_source(name=name, table=f"{name}-{uuid4()}", key=tuple(key))
        for name, key in TABLES.items()
    }
    if engine == "memory":
        clock = MovableClock()
        tables = {name: MemoryTable(source, clock) for name, source in sources.items()}
        yield SourceEngine(MemorySource(tables), sources, lambda name, item: tables[name].put(item))
        return
    with aws_client(request, "dynamodb", engine=engine, fixture="dynamodb_url") as dynamodb:
        for name, source in sources.items():
            create(dynamodb, source.table, TABLES[name])
        yield SourceEngine(
            DynamoDbSource(dynamodb),
            sources,
            lambda name, item: dynamodb.put_item(
                TableName=sources[name].table, Item=to_dynamodb(item)
            ),
        )


def create(dynamodb: Any, table: str, key: Mapping[str, str]) -> None:
    dynamodb.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[
            {"AttributeName": name, "KeyType": kind}
            for name, kind in zip(key, ("HASH", "RANGE"), strict=False)
        ],
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind} for name, kind in key.items()
        ],
    )
