"""Who did what, when and why: small items beside the rows of the ledger's table, for 90 days.

They are in the sparse index under a group of their own, so that the newest are found by one query.
"""

import getpass
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import TypeAdapter

from functions.adapters.dynamodb_batch import batch_get
from functions.adapters.dynamodb_values import from_dynamodb, to_dynamodb
from functions.core.names import CONTROL_PREFIX, OPEN_INDEX

if TYPE_CHECKING:
    from ops.deployment import Deployment

KEPT_DAYS = 90
GROUP = "action"
RUNNING = "not ended"
RESULT_CHARACTERS = 500


@dataclass(frozen=True)
class Action:
    """One command that changed something."""

    row_key: str
    at_ms: int
    who: str
    command: str
    what: str
    documents: int
    reason: str
    result: str = RUNNING


ACTION = TypeAdapter(Action)


class ActionLog:
    """Notes actions; a table that refuses them stops no command."""

    def __init__(self, deployment: "Deployment", say: Callable[[str], None]) -> None:
        self._deployment = deployment
        self._client = deployment.client("dynamodb")
        self._say = say

    def begin(self, *, command: str, what: str, documents: int, reason: str | None) -> Action:
        """Note a command before it changes anything: one that is killed is noted too."""
        at_ms = time.time_ns() // 1_000_000
        action = Action(
            row_key=f"{CONTROL_PREFIX}/{GROUP}/{at_ms}-{uuid4().hex[:8]}",
            at_ms=at_ms,
            who=who(self._deployment),
            command=command,
            what=what,
            documents=documents,
            reason=reason or "",
        )
        self._put(action)
        return action

    def end(self, action: Action, result: str) -> None:
        """Note how it ended."""
        self._put(replace(action, result=result[:RESULT_CHARACTERS]))

    def newest(self, most: int) -> list[Action]:
        """Return the latest actions, the newest first."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            IndexName=OPEN_INDEX,
            KeyConditionExpression="open_shard = :group",
            ExpressionAttributeValues={":group": {"S": GROUP}},
            ScanIndexForward=False,
            PaginationConfig={"MaxItems": most},
        )
        keys = [{"row_key": item["row_key"]} for page in pages for item in page["Items"]]
        found = [_action(item) for item in batch_get(self._client, self._table, keys)]
        return sorted(found, key=lambda one: (-one.at_ms, one.row_key))

    @property
    def _table(self) -> str:
        return self._deployment.outputs["LedgerTable"]

    def _put(self, action: Action) -> None:
        item = asdict(action) | {
            "open_shard": GROUP,
            "due_ms": action.at_ms,
            "expires_at": action.at_ms // 1000 + KEPT_DAYS * 24 * 3600,
        }
        try:
            self._client.put_item(TableName=self._table, Item=to_dynamodb(item))
        except (ClientError, BotoCoreError) as error:
            self._say(f"this action is not noted in the table {self._table}: {error}")


def who(deployment: "Deployment") -> str:
    """Name the person: the identity that AWS knows, or the user of this machine."""
    if deployment.stage is not None:
        try:
            return str(deployment.client("sts").get_caller_identity()["Arn"])
        except (ClientError, BotoCoreError):
            # Its calls may be denied where those of the command are not.
            pass
    return user()


def user() -> str:
    """Name the user of this machine; in a container there may be none for its number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _action(item: dict[str, Any]) -> Action:
    return ACTION.validate_python(from_dynamodb(item))
