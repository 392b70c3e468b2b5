"""One document embedded in this process: the way that needs no queue and no function.

The same steps as the function embed, under a version of its own, with the same ledger.
"""

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from functions.core.change import Change, Position
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Message
from functions.core.settings import SourceSettings, TargetSettings
from functions.core.task import Task
from functions.core.transitions import accept, leave_to_sweep, put_in_lane, requeue, start_over
from ops.document_rows import find_row
from ops.frame import DOCUMENT, SOURCE, TARGET, Noun
from ops.items import find_item, read_key
from ops.numbers import Count
from ops.output import FAILED, OK, Answer, CommandError, UsageError
from ops.proposal import Proposal
from ops.recovery import StderrTelemetry

if TYPE_CHECKING:
    from functions.adapters.sqs_tasks import SqsTasks
    from functions.embed.process import Embed
    from ops.deployment import Deployment

NOUN = Noun("Documents")
# A document that others change so often is left to them.
TRIES = 5
# Nothing is before it: a change that the stream brings is newer.
BEFORE_THE_STREAM = Position("", "")


class EmbeddedNow(Answer):
    """How it ended."""

    row: str
    status: str
    version: int
    tokens: int
    error: str | None
    see: str

    @property
    def exit_code(self) -> int:
        return FAILED if self.error else OK

    def view(self) -> Iterable[str]:
        if self.error:
            return [f"{self.row} is {self.status}: {self.error}; see `{self.see}`"]
        return [f"{self.row} is {self.status}, {self.tokens} tokens paid"]


class NoMessages:
    """The lanes as a run without messages sees them: nothing to hide."""

    def __init__(self, tasks: "SqsTasks") -> None:
        self._tasks = tasks

    def send(self, tasks: Sequence[Task]) -> list[Task]:
        return self._tasks.send(tasks)

    def hide(self, messages: Sequence[tuple[Message, int]]) -> list[Message]:
        del messages
        return []

    def acknowledge(self, message: Message) -> None:
        del message

    def waiting(self, target: str) -> dict[str, int]:
        return self._tasks.waiting(target)

    def has_queue(self, target: str, queue: str) -> bool:
        return self._tasks.has_queue(target, queue)


@NOUN.change_command(
    DOCUMENT,
    SOURCE,
    TARGET,
    click.Option(
        ["--seconds"],
        type=Count(min=10),
        default=120,
        show_default=True,
        help="How long it may take.",
    ),
    examples=["embed tortoise-and-hare", "embed a --stage prod --source articles"],
)
def embed(
    deployment: "Deployment",
    document: str,
    *,
    source: str | None = None,
    target: str | None = None,
    seconds: int = 120,
) -> Proposal[EmbeddedNow]:
    """Embed one document now, in this process, past queues and functions; exit with 1 if it fails.

    It needs the rights of the function embed, and a way to the index. What fails is left to the
    sweep.
    """
    origin, goal = deployment.pair(source, target)
    name, key = read_key(deployment, origin, document)
    row = known_row(deployment, origin, goal, name, key)
    doing = f"embed {name} in target {goal.name}, in this process"
    return Proposal(doing, 1, lambda: embed_now(deployment, row, seconds))


def known_row(
    deployment: "Deployment",
    source: SourceSettings,
    target: TargetSettings,
    document: DocumentId,
    key: Mapping[str, Any],
) -> LedgerRow:
    """Return the row of a document, or its first one if only the table has it."""
    row = find_row(deployment, document, source=source.name, target=target.name)
    if row is None and find_item(deployment, source, key) is None:
        raise UsageError(f"neither table {source.table} nor the ledger has {document!r}")
    return row or _first_row(source.name, target.name, document, key)


def embed_now(deployment: "Deployment", row: LedgerRow, seconds: float) -> EmbeddedNow:
    """Embed the document of a row, and say how it ended."""
    ended = _latest(deployment, row, time.monotonic() + seconds)
    error = None
    if ended.status.is_open or ended.status.is_failed:
        error = str(ended.outcome.reason or (ended.errors[-1].message if ended.errors else ""))
        error = error or "it was not worked: see the lines above"
    task = ended.task
    return EmbeddedNow(
        row=ended.row_key,
        status=ended.status,
        version=task.version,
        tokens=ended.indexed.tokens if ended.status.is_searchable else 0,
        error=error,
        see=deployment.status_command(task.document_id, task.source, task.target),
    )


def _first_row(source: str, target: str, document: DocumentId, key: Mapping[str, Any]) -> LedgerRow:
    from functions.adapters.dynamodb_values import event_key

    now_ms = time.time_ns() // 1_000_000
    change = Change(
        source=source,
        document_id=document,
        key=event_key(key, list(key)),
        position=BEFORE_THE_STREAM,
        sequence_number="",
        written_ms=now_ms,
        removed=False,
    )
    return accept(change, None, target=target, lane=Lane.NORMAL, trace_id="", now_ms=now_ms)


def _latest(deployment: "Deployment", row: LedgerRow, deadline: float) -> LedgerRow:
    """Work a document, and again where the stream brings the change that was just written."""
    for _ in range(TRIES):
        mine = _taken(deployment, row)
        if mine is None:
            row = deployment.ledger.read([row.row_key]).get(row.row_key, row)
            continue
        row = _work(deployment, mine, deadline)
        if row.task.version == mine.task.version or not row.status.is_open:
            return row
    raise CommandError(f"{row.row_key} is changed by others just now: run it again")


def _taken(deployment: "Deployment", row: LedgerRow) -> LedgerRow | None:
    """Store a version of our own; None if another writer was first."""
    now_ms = time.time_ns() // 1_000_000
    lane = Lane.NORMAL if row.task.lane is Lane.DELETE else row.task.lane
    mine = requeue(put_in_lane(start_over(row), lane), now_ms=now_ms)
    return deployment.ledger.write([mine]).stored.get(row.row_key)


def _work(deployment: "Deployment", mine: LedgerRow, deadline: float) -> LedgerRow:
    """Work a version as embed does, and return the row as it stands then."""
    message = Message(
        message_id=f"embedq-{uuid4().hex}",
        receipt_handle="",
        body=mine.task.to_json(),
        queue=mine.task.queue,
        receive_count=1,
        sent_ms=time.time_ns() // 1_000_000,
    )
    step = _step(deployment, mine.task.target)
    step.process([message], seconds_left=lambda: deadline - time.monotonic())
    ended = deployment.ledger.read([mine.row_key])[mine.row_key]
    is_ours = ended.task.version == mine.task.version
    if is_ours and ended.status.is_open and not ended.progress.parked:
        # No message will come again.
        late = leave_to_sweep(ended, now_ms=time.time_ns() // 1_000_000)
        deployment.ledger.write([late])
    return ended


def _step(deployment: "Deployment", target: str) -> "Embed":
    from functions.adapters.aws_clients import ONCE_CONFIG
    from functions.adapters.dynamodb_control import DynamoDbControl
    from functions.adapters.dynamodb_source import DynamoDbSource
    from functions.adapters.eventbridge_announcer import EventBridgeAnnouncer
    from functions.adapters.opensearch_http import OpenSearchHttp
    from functions.adapters.opensearch_index import OpenSearchIndex
    from functions.adapters.providers import make_embedder
    from functions.adapters.s3_stash import S3Stash
    from functions.adapters.secret import ApiKey
    from functions.embed.build import build_embed

    outputs, settings = deployment.outputs, deployment.targets[target]
    secret = ApiKey(deployment.client("secretsmanager"), deployment.secret_arn(target))
    index = OpenSearchHttp.of(deployment.session, outputs["IndexEndpoint"])
    bus = outputs["EventBus"]
    once = deployment.client("dynamodb", config=ONCE_CONFIG)
    control = DynamoDbControl(deployment.dynamodb, outputs["LedgerTable"], once=once)
    return build_embed(
        source=DynamoDbSource(deployment.dynamodb),
        ledger=deployment.ledger,
        queue=NoMessages(deployment.tasks),
        embedder=make_embedder(settings, secret),
        index=OpenSearchIndex(index, settings.index),
        stash=S3Stash(deployment.client("s3"), outputs["StashBucket"]),
        control=control,
        announcer=EventBridgeAnnouncer(deployment.client("events"), "" if bus == "none" else bus),
        telemetry=StderrTelemetry(),
        clock=lambda: time.time_ns() // 1_000_000,
        wait=time.sleep,
        jitter=random.random,
        sources=list(deployment.sources.values()),
        target=settings,
        stage=outputs["Stage"],
    )
