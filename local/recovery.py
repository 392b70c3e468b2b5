"""After a restart: queues live in memory here, so the ledger sends its open tasks again."""

import time
from typing import Any

from functions.adapters.dynamodb_ledger import DynamoDbLedger
from functions.adapters.sqs_tasks import SqsTasks
from functions.core.settings import EnqueueSettings
from functions.sweep.requeue import Requeue
from local.stack import LocalStack


class _Silent:
    """Tells nobody: the count says it all."""

    def event(self, name: str, **fields: Any) -> None:
        pass

    def count(self, metric: str, value: float = 1) -> None:
        pass

    def unexpected(self, error: Exception) -> None:
        raise error


def recover(stack: LocalStack) -> int:
    """Send every open row's task again; return how many."""
    [enqueue] = [f for f in stack.spec.functions if f.folder == "enqueue"]
    settings = EnqueueSettings.from_environment(enqueue.environment)
    ledger = DynamoDbLedger(stack.client("dynamodb"), settings.ledger_table)
    step = Requeue(
        ledger=ledger,
        queue=SqsTasks(stack.client("sqs"), settings.queues),
        telemetry=_Silent(),
        clock=lambda: time.time_ns() // 1_000_000,
    )
    return step.requeue([row.row_key for row in ledger.listed() if row.status.is_open])
