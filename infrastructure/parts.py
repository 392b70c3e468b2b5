"""The parts of one stage, by name: what grants, alarms and outputs are written from."""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import aws_lambda as lambda_

from infrastructure.api_key import ApiKey
from infrastructure.buckets import PrivateBucket
from infrastructure.config.stage import StageConfig
from infrastructure.environment import Environments, Made
from infrastructure.errands import Errands
from infrastructure.lanes import Lanes
from infrastructure.ledger import Ledger
from infrastructure.python_function import PythonFunction
from infrastructure.search import VectorIndex
from infrastructure.sources import SourceTable


@dataclass(frozen=True)
class Stores:
    """Everything that holds data; what belongs to a source or a target goes by its name."""

    ledger: Ledger
    tables: Mapping[str, SourceTable]
    lanes: Mapping[str, Lanes]
    keys: Mapping[str, ApiKey]  # of targets whose provider asks for one
    failed: PrivateBucket
    stash: PrivateBucket
    errands: Errands
    index: VectorIndex

    @property
    def made(self) -> Made:
        return Made(
            ledger_table=self.ledger.table.table_name,
            index_endpoint=self.index.endpoint,
            stash_bucket=self.stash.bucket.bucket_name,
            failed_changes_bucket=self.failed.bucket.bucket_name,
            errands_queue=self.errands.queue.queue_url,
            tables={name: table.name for name, table in self.tables.items()},
            queues={name: lanes.urls for name, lanes in self.lanes.items()},
            secrets={name: key.arn for name, key in self.keys.items()},
        )


@dataclass(frozen=True)
class Parts:
    """The pipeline of one stage, whole."""

    stage: str
    config: StageConfig
    stores: Stores
    settings: Environments
    enqueue: PythonFunction
    streams: Mapping[str, lambda_.CfnEventSourceMapping]  # by source
    embeds: Mapping[str, PythonFunction]  # by target
    mappings: Mapping[str, Mapping[str, lambda_.EventSourceMapping]]  # by target and queue
    sweep: PythonFunction
    backfill: PythonFunction
    breaker: PythonFunction
    query: PythonFunction
    search: PythonFunction
    search_url: lambda_.FunctionUrl

    @property
    def functions(self) -> dict[str, PythonFunction]:
        """Name every function as alarms do."""
        return {
            "enqueue": self.enqueue,
            **{f"embed-{name}": embed for name, embed in self.embeds.items()},
            "index-setup": self.stores.index.setup,
            "sweep": self.sweep,
            "backfill": self.backfill,
            "breaker": self.breaker,
            "query": self.query,
            "search": self.search,
        }
