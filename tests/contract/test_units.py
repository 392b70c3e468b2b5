"""What a document costs, counted on the steps of today: the plan multiplies these counts."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

from benchmarks.statements import with_units
from functions.adapters.dynamodb_control import DynamoDbControl
from functions.adapters.dynamodb_source import DynamoDbSource
from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.backfill_job import Estimate, Job, Only
from functions.core.errand import SegmentErrand
from functions.core.lane import Lane
from local.aws_client import local_client
from local.memory.pipeline import MemoryPipeline
from local.memory.table import MemorySource
from ops.plan.units import BULK, LIVE, Units
from tests.builders import make_pipeline, make_source, make_target
from tests.contract.engines import real
from tests.contract.ledger_engines import LedgerTable, ledger_table

DOCUMENTS = 200
# Each call by how many items it was about; other calls are not about documents.
SIZES: dict[str, Callable[..., int]] = {
    "MemorySource.read": lambda _, keys: len(keys),
    "MemoryTables.scan": lambda *_, **__: 0,
    "MemoryQueues.send": len,
    "MemoryQueues.hide": len,
    "MemoryAnnouncer.announce": len,
}


STATEMENTS = "before-call.dynamodb.BatchExecuteStatement"


def another(client: Any) -> Any:
    """Make a client of the same engine, whose calls are not counted."""
    return local_client("dynamodb", client.meta.endpoint_url)


def units_of(parsed: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what each part of a call is billed."""
    billed = parsed.get("ConsumedCapacity", [])
    return billed if isinstance(billed, list) else [billed]


class Counts:
    """Counts what DynamoDB bills, by its own answers, and what the other ports are asked for."""

    def __init__(self, client: Any) -> None:
        self.found: Counter[str] = Counter()
        self._events = client.meta.events
        self._events.register("provide-client-params.dynamodb.*", self._ask, "ask")
        self._events.register("after-call.dynamodb.*", self._count, "count")
        self._events.register(STATEMENTS, with_units(another(client)), "bill")

    def stop(self) -> None:
        self._events.unregister(STATEMENTS, unique_id="bill")
        self._events.unregister("provide-client-params.dynamodb.*", unique_id="ask")
        self._events.unregister("after-call.dynamodb.*", unique_id="count")

    def around(self, adapter: Any, names: set[str]) -> Any:
        return _Counted(adapter, self.found) if names else adapter

    def _ask(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        if "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "INDEXES"
        for wanted in params.get("RequestItems", {}).values():
            # Also what does not exist is read, and billed.
            self.found["ledger_reads"] += len(wanted["Keys"])

    def _count(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        if model.name in ("PutItem", "BatchExecuteStatement"):
            for billed in units_of(parsed):
                self.found["write_units"] += billed["CapacityUnits"]
                indexes = billed.get("GlobalSecondaryIndexes", {}).values()
                self.found["index_units"] += sum(one["CapacityUnits"] for one in indexes)

    def units(self, pipeline: MemoryPipeline) -> Units:
        """Return what a document took of each."""
        self.found["log_lines"] = len(pipeline.telemetry.events)
        counted = {name: count / DOCUMENTS for name, count in self.found.items()}
        return Units(
            write_units=counted["write_units"],
            index_units=counted["index_units"],
            ledger_reads=counted["ledger_reads"],
            item_reads=counted.get("MemorySource.read", 0),
            item_scans=counted.get("MemoryTables.scan", 0),
            messages=counted["MemoryQueues.send"] + counted["MemoryQueues.hide"],
            events=counted["MemoryAnnouncer.announce"],
            log_lines=round(counted["log_lines"]),  # beside those of the job
        )


class _Counted:
    """An adapter whose calls are counted by their size."""

    def __init__(self, adapter: Any, found: Counter[str]) -> None:
        self._adapter, self._found = adapter, found

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._adapter, name)
        counted = f"{type(self._adapter).__name__}.{name}"
        if counted not in SIZES:
            return inner

        def call(*values: Any, **named: Any) -> Any:
            answer = inner(*values, **named)
            is_scan = name == "scan"
            size = len(answer.items) if is_scan else SIZES[counted](*values, **named)
            self._found[counted] += size
            return answer

        return call


@contextmanager
def counted(table: LedgerTable) -> Iterator[tuple[MemoryPipeline, Counts]]:
    """Give a pipeline whose ledger is a real one, full of items that no stream has told of."""
    counts = Counts(table.client)
    control = DynamoDbControl(table.client, table.name)
    ledger: Any = table.ledger
    memory: Any = control
    pipeline = make_pipeline(ledger=ledger, control=memory, around=counts.around)
    for number in range(DOCUMENTS):
        pipeline.tables["articles"].put({"id": f"{number}", "body": f"text {number} " * 20})
    try:
        yield pipeline, counts
    finally:
        counts.stop()


@pytest.mark.parametrize("engine", [real("dynamodb-local")])
def test_plan_counts_a_live_write_as_it_is(request: pytest.FixtureRequest, engine: str) -> None:
    """R50: units and calls of a new document, from the stream to the index."""
    with ledger_table(request, engine) as table, counted(table) as (pipeline, counts):
        pipeline.deliver_new()
        work(pipeline, Lane.NORMAL)

        assert counts.units(pipeline) == LIVE


@pytest.mark.parametrize("engine", [real("dynamodb-local")])
def test_plan_counts_a_backfilled_document_as_it_is(
    request: pytest.FixtureRequest, engine: str
) -> None:
    """R50, R43: units and calls of an item that was there before, scanned and sent."""
    with ledger_table(request, engine) as table, counted(table) as (pipeline, counts):
        nothing = Estimate(items=0, documents=0, tokens=0)
        job = Job("job", "articles", "default", Only.MISSING, 1, "me", "why", 0, nothing)
        pipeline.jobs.create(job)
        pipeline.errands.send(SegmentErrand(job.id, 0))
        pipeline.run_errands()
        work(pipeline, Lane.BULK)

        assert counts.units(pipeline) == BULK


class Billed:
    """Sums what DynamoDB says that it bills, of every call."""

    READS = ("BatchGetItem", "GetItem", "Query", "Scan")

    def __init__(self, client: Any) -> None:
        self.reads = self.writes = 0.0
        client.meta.events.register("provide-client-params.dynamodb.*", self._ask)
        client.meta.events.register("after-call.dynamodb.*", self._add)
        client.meta.events.register(STATEMENTS, with_units(another(client)))

    def _ask(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        if "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "TOTAL"

    def _add(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        units = sum(one["CapacityUnits"] for one in units_of(parsed))
        if model.name in self.READS:
            self.reads += units
        else:
            self.writes += units


@pytest.mark.parametrize(("priority", "lane"), [("normal", Lane.NORMAL), ("low", Lane.BULK)])
@pytest.mark.parametrize("engine", [real("dynamodb-local")])
def test_new_document_of_a_kilobyte_costs_few_units(
    request: pytest.FixtureRequest, engine: str, priority: str, lane: Lane
) -> None:
    """R50: its row and its item are read once, consistently; a run reads its target's state, too.

    Every call is counted, by what DynamoDB says that it bills.
    """
    with ledger_table(request, engine) as table:
        source = make_source(table=f"articles-{uuid4()}", priority_attribute="priority")
        table.client.create_table(
            TableName=source.table,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        )
        real_source = DynamoDbSource(table.client)
        ledger: Any = table.ledger
        control: Any = DynamoDbControl(table.client, table.name)
        pipeline = MemoryPipeline(
            [source],
            [make_target()],
            ledger=ledger,
            control=control,
            around=lambda adapter, _: real_source if isinstance(adapter, MemorySource) else adapter,
        )
        for number in range(DOCUMENTS):
            item = {"id": f"{number}", "body": f"{number:>4} text " * 100, "priority": priority}
            table.client.put_item(TableName=source.table, Item=to_dynamodb(item))
            pipeline.tables["articles"].put(item)
        billed = Billed(table.client)

        pipeline.deliver_new()
        work(pipeline, lane)

        assert 2 <= billed.reads / DOCUMENTS <= 2.05
        assert billed.writes / DOCUMENTS == 5


def work(pipeline: MemoryPipeline, lane: Lane) -> None:
    """Run embed on full batches, each a while after the one before."""
    name = f"default/{lane}"
    pipeline.clock.advance(1)
    while pipeline.run(name, lane.traits.batch_size):
        pipeline.clock.advance(1)
    assert len(pipeline.indexes["default"].entries) == DOCUMENTS
