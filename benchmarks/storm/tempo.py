"""The template's spec -> the same stack in a hurry: what took minutes takes seconds. Pure."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from local.specs import FunctionSpec, QueueSpec, ScheduleSpec, StackSpec

# As deployed: six timeouts of embed, for a message whose run could not set a shorter one.
VISIBILITY_TIMEOUTS = 6
VISIBILITY = "VisibilityTimeout"


@dataclass(frozen=True)
class Tempo:
    """How long things take in a storm."""

    embed_seconds: int = 10
    due_seconds: int = 3
    maintenance_seconds: int = 10
    breaker_seconds: int = 3
    stuck_seconds: float = 100.0  # longer than the visibility timeout
    retry: Mapping[str, Any] = field(default_factory=lambda: RETRY)
    breaker: Mapping[str, Any] = field(default_factory=lambda: BREAKER)

    @property
    def visibility_seconds(self) -> int:
        return VISIBILITY_TIMEOUTS * self.embed_seconds


# The standard policy and the healing, each about twenty times as fast.
RETRY: Mapping[str, Any] = {
    "default": {"max_attempts": 5, "base_seconds": 0.5, "cap_seconds": 6.0, "jitter": 0.5},
    "max_hide_seconds": 3.0,
    "healing": {"after_seconds": [3.0, 6.0, 12.0]},
}
BREAKER: Mapping[str, Any] = {
    "window_seconds": 10,
    "least_requests": 6,
    "failure_ratio": 0.5,
    "probe_after_seconds": [2.0, 4.0, 8.0],
    "lane_seconds": 2.0,
}


def as_deployed(spec: StackSpec) -> StackSpec:
    """Keep all timeouts and schedules of the template.

    Only what failed for now is healed sooner: by design that waits for hours.
    """
    retry = {"healing": RETRY["healing"]}
    return with_target(spec, retry=retry)


def hurried(spec: StackSpec, tempo: Tempo) -> StackSpec:
    """Shorten timeouts, schedules and delays."""
    spec = with_timeout(spec, embed_seconds=tempo.embed_seconds)
    return replace(
        spec,
        functions=[_function(one, tempo) for one in spec.functions],
        queues=[_queue(one, tempo) for one in spec.queues],
        schedules=[_schedule(one, tempo) for one in spec.schedules],
    )


def with_timeout(spec: StackSpec, *, embed_seconds: int) -> StackSpec:
    """Give each run of embed another time."""
    functions = [
        replace(one, timeout_seconds=embed_seconds) if one.folder == "embed" else one
        for one in spec.functions
    ]
    return replace(spec, functions=functions)


def with_index(spec: StackSpec, address_for: Callable[[str], str]) -> StackSpec:
    """Let the functions see the index at another address."""
    return _with_variable(spec, "INDEX_ENDPOINT", address_for)


def with_target(spec: StackSpec, **settings: Any) -> StackSpec:
    """Give embed's target other settings."""
    return _with_variable(
        spec, "TARGET", lambda target: json.dumps({**json.loads(target), **settings})
    )


def _with_variable(spec: StackSpec, name: str, change: Callable[[str], str]) -> StackSpec:
    functions = [
        replace(one, environment={**one.environment, name: change(one.environment[name])})
        if name in one.environment
        else one
        for one in spec.functions
    ]
    return replace(spec, functions=functions)


def _function(function: FunctionSpec, tempo: Tempo) -> FunctionSpec:
    environment = dict(function.environment)
    if "STUCK_HOURS" in environment:
        environment["STUCK_HOURS"] = f"{tempo.stuck_seconds / 3600:g}"
    if "TARGET" in environment:
        environment["TARGET"] = json.dumps(_target(json.loads(environment["TARGET"]), tempo))
    if "TARGETS" in environment:
        change = _guarded if function.folder == "breaker" else _target
        targets = [change(target, tempo) for target in json.loads(environment["TARGETS"])]
        environment["TARGETS"] = json.dumps(targets)
    return replace(function, environment=environment)


def _target(target: Mapping[str, Any], tempo: Tempo) -> dict[str, Any]:
    return {**target, "retry": dict(tempo.retry), "breaker": dict(tempo.breaker)}


def _guarded(target: Mapping[str, Any], tempo: Tempo) -> dict[str, Any]:
    return {**target, "settings": dict(tempo.breaker)}


def _queue(queue: QueueSpec, tempo: Tempo) -> QueueSpec:
    # Dead letters are received by nobody.
    if "RedrivePolicy" not in queue.attributes:
        return queue
    attributes = {**queue.attributes, VISIBILITY: str(tempo.visibility_seconds)}
    return replace(queue, attributes=attributes)


def _schedule(schedule: ScheduleSpec, tempo: Tempo) -> ScheduleSpec:
    seconds = {
        "due": tempo.due_seconds,
        "maintenance": tempo.maintenance_seconds,
        "reconcile": tempo.breaker_seconds,
    }
    job = json.loads(schedule.payload)["job"]
    return replace(schedule, every_seconds=seconds.get(job, schedule.every_seconds))
