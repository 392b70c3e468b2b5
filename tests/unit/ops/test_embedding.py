"""One document embedded in this process while others change it."""

import json
from collections.abc import Callable, Sequence

import pytest

from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Message
from functions.core.transitions import requeue
from ops import embedding
from ops.deployment import Deployment
from ops.embedding import TRIES, embed, embed_now
from ops.output import CommandError
from tests.builders import make_row

KEY = make_row().row_key


class Step:
    """Embed's step, in whose runs the stream brings a newer version, so many times."""

    def __init__(self, deployment: Deployment, changes: int) -> None:
        self.deployment = deployment
        self.changes = changes
        self.worked: list[int] = []

    def process(self, messages: Sequence[Message], seconds_left: Callable[[], float]) -> None:
        assert seconds_left() > 0
        [message] = messages
        self.worked.append(json.loads(message.body)["version"])
        if len(self.worked) <= self.changes:
            row = self.row()
            self.deployment.ledger.write([requeue(row, now_ms=row.queued_ms + 1)])

    def row(self) -> LedgerRow:
        return self.deployment.ledger.read([KEY])[KEY]


def stepping(deployment: Deployment, monkeypatch: pytest.MonkeyPatch, changes: int) -> Step:
    deployment.ledger.write([make_row(revision=0)])
    step = Step(deployment, changes)
    monkeypatch.setattr(embedding, "_step", lambda *_: step)
    return step


def test_change_that_the_stream_brings_meanwhile_is_embedded_too(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R47 R51: a service writes an item and embeds it at once; the stream is a moment later."""
    step = stepping(deployment, monkeypatch, changes=2)

    ended = embed_now(deployment, step.row(), seconds=60)

    assert len(step.worked) == 3
    assert step.worked == sorted(set(step.worked))
    assert ended.version == step.worked[-1]


def test_document_that_changes_all_the_time_is_left_to_its_writers(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R47: after some tries, in words."""
    step = stepping(deployment, monkeypatch, changes=100)

    with pytest.raises(CommandError, match="is changed by others just now: run it again"):
        embed_now(deployment, step.row(), seconds=60)

    assert len(step.worked) == TRIES


@pytest.mark.parametrize("written", ["8", "8.0", "08", "0.8E1"])
def test_number_has_one_row_however_it_is_written(
    several: Deployment, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    """R07 R47: a second one would have an entry that a delete of the item leaves behind."""

    class NoStep:
        def process(self, messages: Sequence[Message], seconds_left: Callable[[], float]) -> None:
            pass

    monkeypatch.setattr(embedding, "_step", lambda *_: NoStep())
    table = several.source("numbers").table
    several.dynamodb.put_item(TableName=table, Item={"id": {"N": "8"}, "body": {"S": "hello"}})

    proposal = embed(several, written, source="numbers")

    assert proposal.act().row == "default/numbers/8"
    [row] = several.ledger.read([RowKey("default/numbers/8")]).values()
    assert (row.task.document_id, row.task.key) == ("8", {"id": {"N": "8"}})
