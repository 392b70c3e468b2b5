"""Breakers by hand: see them, pause a target with a reason, and let it go on."""

import time
from collections.abc import Callable
from dataclasses import replace

from functions.adapters.dynamodb_control import DynamoDbControl
from functions.core.control import Breaker, Circuit, Control, paused, reopening
from functions.core.failure import Part
from ops.deployment import Deployment, UsageError
from ops.documents import moment

# A worker or the breaker function may change the item between the read and the write.
TRIES = 5
EFFECT = "workers follow within seconds, the lanes within a minute"


def breakers(deployment: Deployment) -> list[str]:
    """Tell the state of every breaker, and of every cooldown."""
    store = _store(deployment)
    lines = []
    for name in deployment.targets:
        control = store.read(name)
        lines.append(f"target {name}")
        lines += [f"  {part:<9} {_describe(control.breaker(part))}" for part in Part]
        lines.append(f"  {'cooldown':<9} {_describe_cooldown(control)}")
    return lines


def pause(deployment: Deployment, *, target: str | None, part: str, reason: str) -> list[str]:
    """Stop the work of a target until somebody resumes it."""
    name = _change(
        deployment,
        target,
        Part(part),
        reason,
        lambda breaker, now_ms: paused(breaker, reason=reason, now_ms=now_ms),
    )
    return [f"the {part} of target {name} is paused ({reason}): {EFFECT}"]


def resume(deployment: Deployment, *, target: str | None, part: str, reason: str) -> list[str]:
    """Let the lanes of a target come back step by step, without waiting for a probe."""

    def released(breaker: Breaker, now_ms: int) -> Breaker:
        if not breaker.state.stops_work:
            raise UsageError(f"there is nothing to resume: the {part}'s breaker is {breaker.state}")
        back = reopening(
            breaker,
            reason=reason,
            now_ms=now_ms,
            settings=deployment.target(target).breaker,
            jitter=0.0,
        )
        return replace(back, probes=0, is_logged=False)

    name = _change(deployment, target, Part(part), reason, released)
    return [f"the {part} of target {name} reopens ({reason}): {EFFECT}, one after the other"]


def _change(
    deployment: Deployment,
    target: str | None,
    part: Part,
    reason: str,
    change: Callable[[Breaker, int], Breaker],
) -> str:
    if not reason.strip():
        raise UsageError("say why, with --reason: whoever is woken by it will want to know")
    name = deployment.target(target).name
    store = _store(deployment)
    for _ in range(TRIES):
        before = store.read(name).breaker(part)
        if store.swap(name, part, before, change(before, time.time_ns() // 1_000_000)):
            return name
    raise UsageError(f"the breaker of target {name} changes all the time: try again")


def _store(deployment: Deployment) -> DynamoDbControl:
    return DynamoDbControl(deployment.client("dynamodb"), deployment.outputs["LedgerTable"])


def _describe(breaker: Breaker) -> str:
    text = str(breaker.state)
    if breaker.since_ms:
        text += f" since {moment(breaker.since_ms)}: {breaker.reason}"
    if breaker.state is Circuit.OPEN:
        text += f"; {breaker.probes} probes failed, the next one at {moment(breaker.due_ms)}"
    if breaker.window_ms:
        text += (
            f" ({breaker.failures} of {breaker.successes + breaker.failures} requests failed"
            f" in the window of {moment(breaker.window_ms)})"
        )
    return text


def _describe_cooldown(control: Control) -> str:
    cooldown = control.cooldown
    if not cooldown.throttles:
        return "none"
    until = moment(cooldown.until_ms)
    return f"throttled {cooldown.throttles} times in a row: nobody asks before {until}"
