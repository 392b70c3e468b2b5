"""Environment variables of each function, written from the settings models that read them."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from functions.core.names import METRICS_NAMESPACE
from functions.core.settings import GuardedTarget, SourceSettings, TargetSettings
from infrastructure.source_config import SourceConfig
from infrastructure.target_config import TargetConfig


def source_settings(name: str, source: SourceConfig, *, table: str) -> SourceSettings:
    return SourceSettings(
        name=name,
        table=table,
        key=tuple(source.key),
        text=source.text,
        type_attribute=source.type_attribute,
        default_type=source.default_type,
        metadata=source.metadata,
        priority_attribute=source.priority_attribute,
        skip_attribute=source.skip_attribute,
        ordering=source.ordering,
        targets=source.targets,
    )


def target_settings(name: str, target: TargetConfig, *, index: str, workers: int) -> TargetSettings:
    return TargetSettings(
        name=name,
        provider=target.provider,
        base_url=target.base_url,
        api_version=target.api_version,
        model=target.model,
        dimensions=target.vector_dimensions,
        chunk_tokens=target.chunk_tokens,
        max_chunks=target.max_chunks,
        tokens_per_request=target.tokens_per_request,
        max_entry_mb=target.max_entry_mb,
        index=index,
        requests_per_minute=target.requests_per_minute,
        tokens_per_minute=target.tokens_per_minute,
        workers=workers,
        retry=target.retry.settings,
        breaker=target.breaker.settings,
    )


def enqueue_environment(
    *,
    ledger_table: str,
    sources: tuple[SourceSettings, ...],
    targets: tuple[TargetSettings, ...],
    queues: Mapping[str, Mapping[str, str]],
) -> dict[str, str]:
    return {
        "LEDGER_TABLE": ledger_table,
        "SOURCES": _json([_given(source) for source in sources]),
        "TARGETS": _json([_given(target) for target in targets]),
        "QUEUES": _json(queues),
    }


def embed_environment(
    *,
    ledger_table: str,
    sources: tuple[SourceSettings, ...],
    target: TargetSettings,
    queues: Mapping[str, str],
    index_endpoint: str,
    api_key_secret: str,
    stash_bucket: str,
    event_bus: str,
) -> dict[str, str]:
    return {
        "LEDGER_TABLE": ledger_table,
        "SOURCES": _json([_given(source) for source in sources]),
        "TARGET": compact(target),
        "QUEUES": _json(queues),
        "INDEX_ENDPOINT": index_endpoint,
        "API_KEY_SECRET": api_key_secret,
        "STASH_BUCKET": stash_bucket,
        "EVENT_BUS": event_bus,
    }


def sweep_environment(
    *,
    enqueue: Mapping[str, str],
    index_endpoint: str,
    failed_changes_bucket: str,
    event_bus: str,
    stuck_hours: float,
) -> dict[str, str]:
    """Add to what enqueue knows: sweep does its work too, on changes that failed."""
    return {
        **enqueue,
        "INDEX_ENDPOINT": index_endpoint,
        "FAILED_CHANGES_BUCKET": failed_changes_bucket,
        "EVENT_BUS": event_bus,
        "STUCK_HOURS": f"{stuck_hours:g}",
    }


def breaker_environment(*, ledger_table: str, targets: tuple[GuardedTarget, ...]) -> dict[str, str]:
    return {
        "LEDGER_TABLE": ledger_table,
        "TARGETS": _json([_given(target) for target in targets]),
    }


def telemetry_environment(*, function: str, stage: str, log_level: str) -> dict[str, str]:
    """Name the service, the metric namespace and the stage that Powertools puts on its output."""
    return {
        "POWERTOOLS_SERVICE_NAME": function,
        "POWERTOOLS_METRICS_NAMESPACE": METRICS_NAMESPACE,
        "LOG_LEVEL": log_level,
        "STAGE": stage,
    }


def compact(settings: BaseModel) -> str:
    """Write settings as JSON, without what is as usual."""
    return _json(_given(settings))


def _given(settings: BaseModel) -> dict[str, Any]:
    # The models know their defaults; Lambda's 4 KB are for what differs from them.
    return settings.model_dump(mode="json", exclude_defaults=True)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
