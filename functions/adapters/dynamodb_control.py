"""The control item of each target, in the ledger's table. Every change is one conditional write."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from functions.adapters.dynamodb_values import from_dynamodb, to_dynamodb
from functions.adapters.store_errors import store_failures
from functions.core.breaker import Breaker, Circuit
from functions.core.control import Control, Cooldown
from functions.core.failure import Failure, FailureError, FailureKind, Part
from functions.core.names import CONTROL_PREFIX

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# No target may have this name: a document's row key begins with its target.
COUNTS = ("window_ms", "successes", "failures")
STATE = tuple(field.name for field in fields(Breaker) if field.name not in COUNTS)


class DynamoDbControl:
    """One item per target; it has no shard, so the index of open rows never lists it."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self, target: str) -> Control:
        """Return the item, or an untroubled one; raise a FailureError where it is unreadable."""
        with self._failures("reading"):
            answer = self._client.get_item(
                TableName=self._table, Key=_key(target), ConsistentRead=True
            )
        return _control(answer.get("Item", {}))

    def count(
        self, target: str, part: Part, *, window_ms: int, successes: int, failures: int
    ) -> Breaker:
        """Add to the counts of a window, a newer one from zero; return the breaker."""
        window, passed, failed = (f"{part}_{name}" for name in COUNTS)
        values = {":window": window_ms, ":passed": successes, ":failed": failures}
        add = (f"ADD {passed} :passed, {failed} :failed", f"{window} = :window")
        start = (
            f"SET {window} = :window, {passed} = :passed, {failed} = :failed",
            f"attribute_not_exists({window}) OR {window} < :window",
        )
        # The third: another worker has begun the window between the first two.
        for change, condition in (add, start, add):
            stored = self._update(target, change, condition, values)
            if stored is not None:
                return stored.breaker(part)
        return self.read(target).breaker(part)

    def swap(self, target: str, part: Part, before: Breaker, after: Breaker) -> bool:
        """Change the state of a breaker, if it is still as it was before; counts stay."""
        values = {f":{name}": _plain(getattr(after, name)) for name in STATE}
        change = "SET " + ", ".join(f"{part}_{name} = :{name}" for name in STATE)
        condition = f"attribute_not_exists({part}_state)"
        if before.since_ms:
            # Every change of a breaker moves one of these.
            condition = " AND ".join(
                f"{part}_{name} = :before_{name}" for name in ("state", "since_ms", "due_ms")
            )
            values |= {
                ":before_state": str(before.state),
                ":before_since_ms": before.since_ms,
                ":before_due_ms": before.due_ms,
            }
        return self._update(target, change, condition, values) is not None

    def cool(self, target: str, *, until_ms: int, after: int) -> Cooldown:
        """Note a throttled request: no worker asks before then; return the cooldown."""
        raise_it = (
            "SET cooldown_until_ms = :until, cooldown_throttles ="
            " if_not_exists(cooldown_throttles, :none) + :one REMOVE cooldown_claimed_until_ms",
            "attribute_not_exists(cooldown_throttles)"
            " OR (cooldown_throttles = :after AND cooldown_until_ms < :until)",
            {":until": until_ms, ":after": after, ":none": 0, ":one": 1},
        )
        lengthen = (
            "SET cooldown_until_ms = :until",
            "cooldown_until_ms < :until",
            {":until": until_ms},
        )
        for change, condition, values in (raise_it, lengthen):
            stored = self._update(target, change, condition, values)
            if stored is not None:
                return stored.cooldown
        return self.read(target).cooldown

    def claim(self, target: str, *, now_ms: int, until_ms: int) -> bool:
        """Be the one worker that asks after a cooldown, until it knows more; return whether."""
        change = "SET cooldown_claimed_until_ms = :until"
        condition = (
            "cooldown_until_ms <= :now AND (attribute_not_exists(cooldown_claimed_until_ms)"
            " OR cooldown_claimed_until_ms <= :now)"
        )
        values = {":now": now_ms, ":until": until_ms}
        return self._update(target, change, condition, values) is not None

    def warm(self, target: str, *, after: int) -> None:
        """End the cooldown that had so many throttles: a request has passed."""
        names = [f"cooldown_{field.name}" for field in fields(Cooldown)]
        condition = "cooldown_throttles = :after"
        self._update(target, f"REMOVE {', '.join(names)}", condition, {":after": after})

    def _update(
        self, target: str, change: str, condition: str, values: Mapping[str, Any]
    ) -> Control | None:
        """Change the item; return it, or None where the condition does not hold."""
        with self._failures("writing"):
            try:
                answer = self._client.update_item(
                    TableName=self._table,
                    Key=_key(target),
                    UpdateExpression=change,
                    ConditionExpression=condition,
                    ExpressionAttributeValues=to_dynamodb(values),
                    ReturnValues="ALL_NEW",
                )
            except ClientError as error:
                if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                    raise
                return None
        return _control(answer["Attributes"])

    @contextmanager
    def _failures(self, doing: str) -> Iterator[None]:
        with store_failures(f"{doing} the control item in table {self._table}"):
            yield


def _key(target: str) -> Any:
    return {"row_key": {"S": f"{CONTROL_PREFIX}/{target}"}}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Circuit) else value


def _control(item: Mapping[str, Any]) -> Control:
    try:
        values = from_dynamodb(item)
        return Control(
            provider=_breaker(_part(values, Part.PROVIDER)),
            index=_breaker(_part(values, Part.INDEX)),
            cooldown=Cooldown(**{n: int(v) for n, v in _part(values, "cooldown").items()}),
        )
    except (TypeError, ValueError) as error:
        message = f"the control item holds what nobody wrote: {error}"
        raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, message)) from error


def _part(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    start = f"{prefix}_"
    return {
        name.removeprefix(start): value for name, value in values.items() if name.startswith(start)
    }


def _breaker(values: Mapping[str, Any]) -> Breaker:
    given = dict(values)
    if "state" in given:
        given["state"] = Circuit(given["state"])
    numbers = {
        name: int(value)
        for name, value in given.items()
        if name in COUNTS or name in ("since_ms", "probes", "due_ms", "lanes")
    }
    return Breaker(**given | numbers)
