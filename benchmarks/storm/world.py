"""The stack that a storm goes over: real engines, a provider and an index that can be broken."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.storm.provider import Provider
from benchmarks.storm.proxy import IndexProxy
from benchmarks.storm.tempo import with_index
from benchmarks.storm.weather import Outage
from functions.core.settings import SourceSettings, TargetSettings
from local.background import ENGINES
from local.engines.records import read_record
from local.stack import Change, LocalStack, local_stack
from ops.deployment import Deployment
from ops.stack import local_deployment

INDEX_ENGINE = "OpenSearch"


@dataclass(frozen=True)
class World:
    """Everything that a storm touches or looks at."""

    folder: Path
    stack: LocalStack
    deployment: Deployment
    provider: Provider
    proxy: IndexProxy

    @property
    def source(self) -> SourceSettings:
        return self.deployment.source(None)

    @property
    def target(self) -> TargetSettings:
        return self.deployment.target(None)

    @property
    def logs(self) -> Path:
        return self.folder / "runner" / "logs"

    def break_index(self, how: Outage) -> None:
        """Take the index away."""
        if how is Outage.STOPPED:
            self._signal_index(signal.SIGSTOP)
        else:
            self.proxy.go_away(how)

    def mend_index(self, how: Outage) -> None:
        """Bring it back."""
        if how is Outage.STOPPED:
            self._signal_index(signal.SIGCONT)
        else:
            self.proxy.come_back()

    def failed_changes(self) -> int:
        """Count the objects of stream records that enqueue could not take."""
        bucket = self.deployment.outputs["FailedChangesBucket"]
        found: dict[str, Any] = self.deployment.client("s3").list_objects_v2(Bucket=bucket)
        return int(found["KeyCount"])

    def _signal_index(self, number: signal.Signals) -> None:
        record = read_record(self.folder / ENGINES)
        engines = {one.name: one.process for one in record.engines} if record else {}
        os.kill(engines[INDEX_ENGINE].pid, number)


@contextmanager
def storm_world(
    folder: Path,
    *,
    change: Change,
    log: Callable[[str], None],
    model_origin: str | None = None,
    short_lived: bool = False,
) -> Iterator[World]:
    """Start the stack on a folder; what the functions know as the index is the proxy."""
    with (
        closing(IndexProxy()) as proxy,
        local_stack(
            folder,
            log=log,
            vectors="hashed",
            in_memory=True,
            short_lived=short_lived,
            change=lambda spec: with_index(change(spec), proxy.address_for),
        ) as stack,
    ):
        yield World(
            folder=folder,
            stack=stack,
            deployment=local_deployment(stack.endpoint_url),
            provider=Provider(model_origin or stack.model_origin),
            proxy=proxy,
        )
