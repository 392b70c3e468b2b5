"""Every part that a stack depends on: does it answer, how fast, and what to do if not."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from functions.core.failure import Part
from infrastructure.names import pascal
from ops.breakers import stopped, throttled
from ops.frame import Noun
from ops.output import FAILED, OK, Answer, table

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("State")
State = Literal["well", "warning", "failed"]


class Check(Answer):
    """One part."""

    part: str
    state: State
    milliseconds: int
    detail: str
    remedy: str | None = None


class Health(Answer):
    """All parts; the command ends with 1 if one failed."""

    checks: tuple[Check, ...]

    @property
    def exit_code(self) -> int:
        return FAILED if any(one.state == "failed" for one in self.checks) else OK

    def view(self) -> Iterable[Any]:
        rows = [(one.state, one.part, f"{one.milliseconds} ms", one.detail) for one in self.checks]
        yield table(["state", "part", "took", "detail"], rows)
        for one in self.checks:
            if one.remedy:
                yield f"{one.part}: {one.remedy}"


@dataclass(frozen=True)
class Finding:
    """What a question to a part has shown."""

    detail: str
    state: State = "well"


@dataclass(frozen=True)
class Question:
    """How to find out about a part, and what to do if it is not well."""

    part: str
    ask: Callable[[], Finding]
    remedy: str


@NOUN.stack_command(examples=["health", "health --stage prod --json"])
def health(deployment: "Deployment") -> Health:
    """Ask every part that the stack depends on; exit with 1 if one does not answer.

    The provider of each target is asked to embed one word.
    """
    return Health(checks=tuple(map(check, questions(deployment))))


def check(question: Question) -> Check:
    """Ask, and measure how long the answer takes; an error is an answer too."""
    from ops.deployment import STACK_ERRORS

    began = time.monotonic()
    try:
        found = question.ask()
    except STACK_ERRORS as error:
        found = Finding(str(error), "failed")
    return Check(
        part=question.part,
        state=found.state,
        milliseconds=round((time.monotonic() - began) * 1000),
        detail=found.detail,
        remedy=None if found.state == "well" else question.remedy,
    )


def questions(deployment: "Deployment") -> Iterator[Question]:
    """Name what is asked, in the order of a document's way."""
    for source in deployment.sources:
        yield from _of_source(deployment, source)
    yield Question(
        "ledger",
        lambda: _table(deployment, deployment.outputs["LedgerTable"]),
        "look for throttled or denied calls of the table in CloudWatch",
    )
    for target in deployment.targets:
        yield from _of_target(deployment, target)
    yield Question(
        "stash",
        lambda: _bucket(deployment, deployment.outputs["StashBucket"]),
        "the bucket is gone or denied: deploy the stack again",
    )


def _of_source(deployment: "Deployment", name: str) -> Iterator[Question]:
    yield Question(
        f"table of {name}",
        lambda: _table(deployment, deployment.source(name).table),
        "is it the right account and region, and does the table exist?",
    )
    yield Question(
        f"stream of {name}",
        lambda: _mapping(deployment, pascal("source", name, "mapping-id")),
        "enable the event source mapping of enqueue, or set `enabled` of the stage and deploy",
    )


def _of_target(deployment: "Deployment", name: str) -> Iterator[Question]:
    yield Question(
        f"lanes of {name}",
        lambda: _lanes(deployment, name),
        f"see `{deployment.command('breakers')}`; a pause ends with `embedq resume --reason ...`",
    )
    yield Question(
        f"dead letters of {name}",
        lambda: _dead_letters(deployment, name),
        f"see `{deployment.command('dead', 'causes')}`",
    )
    for part, remedy in (
        (Part.PROVIDER, "look at the provider's status page, the key and the quota"),
        (Part.INDEX, "look at the domain's health and at docs/operations/breaker-is-open.md"),
    ):
        yield Question(f"{part} of {name}", _prober(deployment, name, part), remedy)


def _table(deployment: "Deployment", table: str) -> Finding:
    state = deployment.dynamodb.describe_table(TableName=table)["Table"]["TableStatus"]
    return Finding(f"{table} is {state}", "well" if state in ("ACTIVE", "UPDATING") else "failed")


def _mapping(deployment: "Deployment", output: str) -> Finding:
    state = deployment.mapping(output)["State"]
    return Finding(f"its mapping is {state}", "well" if state == "Enabled" else "failed")


def _lanes(deployment: "Deployment", target: str) -> Finding:
    reasons = (*stopped(deployment, target), *throttled(deployment, target))
    if reasons:
        return Finding("; ".join(reasons), "warning")
    states = {
        queue: deployment.mapping(pascal("target", target, "lane", queue, "mapping-id"))["State"]
        for queue in deployment.queues[target]
    }
    off = [f"{queue} is {state}" for queue, state in states.items() if state != "Enabled"]
    return Finding(", ".join(off), "warning") if off else Finding("all are enabled")


def _dead_letters(deployment: "Deployment", target: str) -> Finding:
    number = deployment.count_dead_letters(target)
    return Finding(f"{number}", "warning" if number else "well")


def _prober(deployment: "Deployment", target: str, part: Part) -> Callable[[], Finding]:
    def ask() -> Finding:
        from functions.adapters.lambda_mappings import PROBE_CONFIG, LambdaProber

        function = deployment.outputs[pascal("target", target, "embed-function")]
        client = deployment.client("lambda", config=PROBE_CONFIG)
        answer = LambdaProber(client).probe(function, [part])
        if answer is None:
            return Finding("all workers are busy: it was not asked", "warning")
        failure = answer.get(part)
        return Finding(failure, "failed") if failure else Finding("answers")

    return ask


def _bucket(deployment: "Deployment", bucket: str) -> Finding:
    deployment.client("s3").head_bucket(Bucket=bucket)
    return Finding("is there")
