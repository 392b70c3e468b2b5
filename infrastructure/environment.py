"""Environment variables of each function, written from the settings models that read them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from functions.core.settings import (
    BackfillSettings,
    BreakerFunctionSettings,
    BreakerTarget,
    EmbedSettings,
    EnqueueSettings,
    Environment,
    QuerySettings,
    SearchSettings,
    SourceSettings,
    SweepSettings,
    TargetSettings,
)
from infrastructure.config.budget import usd_per_million_tokens
from infrastructure.config.source import SourceConfig
from infrastructure.config.stage import StageConfig
from infrastructure.config.target import TargetConfig
from infrastructure.names import bus_name, index_name, replaced_indexes

Variables = dict[str, str]


@dataclass(frozen=True)
class Made:
    """What is known of a stage only once AWS has made it."""

    ledger_table: str
    index_endpoint: str
    stash_bucket: str
    failed_changes_bucket: str
    errands_queue: str  # URL
    tables: Mapping[str, str]  # by source
    queues: Mapping[str, Mapping[str, str]]  # URLs by target and queue
    secrets: Mapping[str, str]  # by target, of those with a key


class Environments:
    """The settings of one stage as its functions read them."""

    def __init__(self, stage: str, config: StageConfig, made: Made) -> None:
        self._config = config
        self._made = made
        self.sources = {
            name: source_settings(name, source, table=made.tables[name])
            for name, source in config.sources.items()
        }
        replaced = replaced_indexes(stage, config)
        self.targets = {
            name: target_settings(
                name,
                target,
                index=index_name(stage, name, target),
                reused_index=(
                    replaced[index_name(stage, name, target)] if config.reuses_vectors(name) else ""
                ),
                workers=config.workers_of(name),
            )
            for name, target in config.targets.items()
        }

    def enqueue(self) -> Variables:
        return self._variables(EnqueueSettings)

    def sweep(self) -> Variables:
        return self._variables(SweepSettings)

    def backfill(self) -> Variables:
        return self._variables(BackfillSettings)

    def embed(self, target: str) -> Variables:
        return self._variables(
            EmbedSettings,
            sources=tuple(self.sources[name] for name in self._config.sources_of(target)),
            target=self.targets[target],
            queues=self._made.queues[target],
            api_key_secret=self._made.secrets.get(target, ""),
        )

    def breaker(
        self, embed_functions: Mapping[str, str], mappings: Mapping[str, Mapping[str, str]]
    ) -> Variables:
        """Name each target's embed function, and its mappings by queue."""
        targets = tuple(
            BreakerTarget(
                name=name,
                embed_function=embed_functions[name],
                mappings=dict(mappings[name]),
                settings=target.breaker,
            )
            for name, target in self.targets.items()
        )
        return self._variables(BreakerFunctionSettings, targets=targets)

    def query(self) -> Variables:
        indexes = tuple(target.index for target in self.targets.values())
        return self._variables(QuerySettings, indexes=indexes)

    def search(self) -> Variables:
        return self._variables(SearchSettings)

    def _variables(self, reader: type[Environment], **own: object) -> Variables:
        known = {
            **vars(self._made),
            "sources": tuple(self.sources.values()),
            "targets": tuple(self.targets.values()),
            "event_bus": bus_name(self._config),
            **own,
        }
        # What is neither made nor derived is a setting of the stage by the same name.
        return {
            name.upper(): _text(known[name] if name in known else getattr(self._config, name))
            for name in reader.model_fields
        }


def source_settings(name: str, source: SourceConfig, *, table: str) -> SourceSettings:
    """Derive what the functions read of a source."""
    own = {"name": name, "table": table, "key": tuple(source.key)}
    return SourceSettings.model_validate({**_shared(source, SourceSettings), **own})


def target_settings(
    name: str, target: TargetConfig, *, index: str, workers: int, reused_index: str = ""
) -> TargetSettings:
    """Derive what the functions read of a target."""
    own: dict[str, Any] = {
        "name": name,
        "dimensions": target.vector_dimensions,
        "index": index,
        "reused_index": reused_index,
        "workers": workers,
    }
    if usd_per_million_tokens(target) is not None:
        own["usd_per_million_tokens"] = usd_per_million_tokens(target)
    return TargetSettings.model_validate({**_shared(target, TargetSettings), **own})


def telemetry_environment(function: str, *, stage: str, log_level: str) -> Variables:
    """Name the service and the stage that log lines and metrics have."""
    return {
        "POWERTOOLS_SERVICE_NAME": function,
        "LOG_LEVEL": log_level,
        "STAGE": stage,
    }


def compact(settings: BaseModel) -> str:
    """Write settings as JSON, without what is as usual."""
    return _text(settings)


def _shared(config: BaseModel, settings: type[BaseModel]) -> dict[str, Any]:
    return config.model_dump(include=set(settings.model_fields), exclude_defaults=True)


def _text(value: object) -> str:
    match value:
        case str():
            return value
        case float():
            return f"{value:g}"
        case _:
            return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    # The models know their defaults; Lambda's 4 KB are for what differs from them.
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
