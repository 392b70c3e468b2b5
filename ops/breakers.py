"""Breakers by hand: show them, pause a target with a reason, and resume it."""

import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from functions.core.breaker import Breaker, Circuit, Timing, paused, resumed
from functions.core.control import Control
from functions.core.failure import Part
from functions.core.ledger_row import Group
from ops.frame import TARGET, Noun
from ops.output import Answer, CommandError, UsageError, moment, table, written
from ops.proposal import Proposal

if TYPE_CHECKING:
    from ops.deployment import Deployment

# A worker or the breaker function may change the item between the read and the write.
TRIES = 5
EFFECT = "workers follow within seconds, the lanes within a minute"
NOUN = Noun("Breakers")
PART = click.Option(
    ["--part"],
    type=click.Choice([str(part) for part in Part]),
    default=str(Part.PROVIDER),
    show_default=True,
    help="Which breaker; deletes stop with the index only.",
)


class BreakerLine(Answer):
    """The state of one breaker or cooldown."""

    target: str
    part: str
    state: str
    since: datetime | None = None
    reason: str | None = None
    note: str | None = None


class Breakers(Answer):
    """The breakers and the cooldown of every target."""

    breakers: tuple[BreakerLine, ...]

    def view(self) -> Iterable[Any]:
        rows = [
            (b.target, b.part, b.state, written(b.since), b.reason, b.note) for b in self.breakers
        ]
        yield table(["target", "part", "state", "since", "reason", "note"], rows)


class Switched(Answer):
    """A breaker that a person has changed."""

    target: str
    part: str
    state: str
    reason: str

    def view(self) -> Iterable[str]:
        effect = EFFECT if self.state == Circuit.PAUSED else f"{EFFECT}, one after the other"
        return [
            f"the {self.part} of target {self.target} is {self.state} ({self.reason}): {effect}"
        ]


@NOUN.stack_command(examples=["breakers", "breakers --stage prod"])
def breakers(deployment: "Deployment") -> Breakers:
    """Show which targets are stopped, since when and why."""
    lines: list[BreakerLine] = []
    for name in deployment.targets:
        control = deployment.control.read(name)
        lines += [_breaker_line(name, part, control.breaker(part)) for part in Part]
        lines.append(_cooldown_line(name, control))
    return Breakers(breakers=tuple(lines))


@NOUN.change_command(
    PART,
    TARGET,
    needs_reason=True,
    examples=[
        'pause --reason "the key is being replaced"',
        'pause --part index --stage prod --reason "the domain is being resized"',
    ],
)
def pause(
    deployment: "Deployment",
    *,
    reason: str,
    part: str = Part.PROVIDER,
    target: str | None = None,
) -> Proposal[Switched]:
    """Stop the work of a target until `embedq resume`; nothing is lost."""

    def pausing(breaker: Breaker, now_ms: int) -> Breaker:
        return paused(breaker, reason=reason, now_ms=now_ms)

    return _proposed("pause", deployment, target, Part(part), reason, pausing)


@NOUN.change_command(
    PART,
    TARGET,
    needs_reason=True,
    examples=[
        'resume --reason "the key is replaced"',
        'resume --part index --stage prod --reason "the domain is resized"',
    ],
)
def resume(
    deployment: "Deployment",
    *,
    reason: str,
    part: str = Part.PROVIDER,
    target: str | None = None,
) -> Proposal[Switched]:
    """Reopen a stopped target lane by lane, without waiting for a probe."""

    def released(breaker: Breaker, now_ms: int) -> Breaker:
        if not breaker.state.stops_work:
            raise UsageError(f"there is nothing to resume: the {part}'s breaker is {breaker.state}")
        at = Timing(now_ms, deployment.target(target).breaker, jitter=0.0)
        return resumed(breaker, at, reason=reason)

    return _proposed("resume", deployment, target, Part(part), reason, released)


def stopped(deployment: "Deployment", target: str) -> tuple[str, ...]:
    """Say why a target does no work now; nothing if it does."""
    control = deployment.control.read(target)
    found = [(part, control.breaker(part)) for part in Part]
    return tuple(
        f"the {part}'s breaker of target {target} is {breaker.state} since"
        f" {written(moment(breaker.since_ms))}: {breaker.reason}"
        for part, breaker in found
        if breaker.state.stops_work
    )


def throttled(deployment: "Deployment", target: str) -> tuple[str, ...]:
    """Say until when the provider has asked not to be asked; nothing if it may be."""
    until_ms = deployment.control.read(target).cooldown.until_ms
    if until_ms <= time.time_ns() // 1_000_000:
        return ()
    until = written(moment(until_ms))
    return (f"the provider of target {target} throttles: no request before {until}",)


def _proposed(
    verb: str,
    deployment: "Deployment",
    target: str | None,
    part: Part,
    reason: str,
    change: Callable[[Breaker, int], Breaker],
) -> Proposal[Switched]:
    name = deployment.target(target).name
    # Refused before anybody is asked.
    change(deployment.control.read(name).breaker(part), time.time_ns() // 1_000_000)
    return Proposal(
        f"{verb} the {part} of target {name}",
        documents=sum(one.target == name for one in deployment.listed([Group.OPEN, Group.PARKED])),
        act=lambda: _switch(deployment, name, part, reason, change),
    )


def _switch(
    deployment: "Deployment",
    name: str,
    part: Part,
    reason: str,
    change: Callable[[Breaker, int], Breaker],
) -> Switched:
    for _ in range(TRIES):
        before = deployment.control.read(name).breaker(part)
        after = change(before, time.time_ns() // 1_000_000)
        if deployment.control.swap(name, part, before, after):
            return Switched(target=name, part=part, state=after.state, reason=reason)
    raise CommandError(f"the breaker of target {name} is changed by others meanwhile: try again")


def _breaker_line(target: str, part: Part, breaker: Breaker) -> BreakerLine:
    notes = []
    if breaker.state is Circuit.OPEN:
        due = written(moment(breaker.due_ms))
        notes.append(f"{breaker.probes} probes failed, the next one at {due}")
    if breaker.window_ms:
        requests = breaker.successes + breaker.failures
        window = written(moment(breaker.window_ms))
        notes.append(f"{breaker.failures} of {requests} requests failed in the window of {window}")
    return BreakerLine(
        target=target,
        part=part,
        state=breaker.state,
        since=moment(breaker.since_ms) if breaker.since_ms else None,
        reason=breaker.reason if breaker.since_ms else None,
        note="; ".join(notes) or None,
    )


def _cooldown_line(target: str, control: Control) -> BreakerLine:
    cooldown = control.cooldown
    if not cooldown.throttles:
        return BreakerLine(target=target, part="cooldown", state="none")
    until = written(moment(cooldown.until_ms))
    return BreakerLine(
        target=target,
        part="cooldown",
        state="throttled",
        note=f"{cooldown.throttles} times in a row: no request before {until}",
    )
