"""The control item of each target, in the ledger's table. Every change is one conditional write.

A cooldown, from the first 429 to the request that passes:

    cool(after=0)       claim            cool(after=1)      claim          warm(after=2)
    throttles = 1       one worker       throttles = 2      one worker     all of it is removed
    |--- until_ms ----->|-- its request->|--- until_ms ---->|-- passes --->|
"""

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from functions.adapters.dynamodb_values import from_dynamodb, to_dynamodb
from functions.adapters.store_errors import store_failures
from functions.core.breaker import Breaker
from functions.core.budget import Caps, Cost, Raised, Spent
from functions.core.control import Control, Cooldown
from functions.core.failure import Failure, FailureError, FailureKind, Part
from functions.core.names import CONTROL_PREFIX

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CONTROL = TypeAdapter(Control)
COUNTS = ("window_ms", "successes", "failures")
STATE = tuple(field.name for field in fields(Breaker) if field.name not in COUNTS)
# Every change of a breaker changes one of these.
IDENTITY = ("state", "since_ms", "due_ms")
INDEX_UUID = "index_uuid"
COOLDOWN = tuple(f"cooldown_{field.name}" for field in fields(Cooldown))
RAISED = tuple(field.name for field in fields(Raised))

NO_COOLDOWN = "attribute_not_exists(cooldown_throttles)"
SAME_THROTTLES = "cooldown_throttles = :after"
ENDS_EARLIER = "cooldown_until_ms < :until"
COOLDOWN_IS_OVER = "cooldown_until_ms <= :now"
NO_CLAIM = "attribute_not_exists(cooldown_claimed_until_ms)"
CLAIM_IS_OVER = "cooldown_claimed_until_ms <= :now"

# Names of days and months are in the order of their text.
IS_NEW_MONTH = "(attribute_not_exists(spent_month) OR spent_month < :month)"
IS_NEW_DAY = "spent_month >= :month AND spent_day < :day"
IS_CURRENT = "spent_month >= :month AND spent_day >= :day"
IS_SAME_MONTH = "spent_month = :month"
IS_SAME = f"{IS_SAME_MONTH} AND spent_day = :day"
ADD_BOTH = "ADD spent_tokens :tokens, spent_nanousd :nanousd"


class DynamoDbControl:
    """One item per target; it has no shard, so the index of open rows never lists it."""

    def __init__(
        self, client: "DynamoDBClient", table: str, *, once: "DynamoDBClient | None" = None
    ) -> None:
        """`once` repeats no call: what is given back twice would be spent twice."""
        self._client = client
        self._once = once or client
        self._table = table

    def read(self, target: str) -> Control:
        with store_failures(f"reading the control item in table {self._table}"):
            answer = self._client.get_item(
                TableName=self._table, Key=_key(target), ConsistentRead=True
            )
        return _control(answer.get("Item", {}))

    def count(
        self, target: str, part: Part, *, window_ms: int, successes: int, failures: int
    ) -> Breaker:
        window, passed, failed = (f"{part}_{name}" for name in COUNTS)
        values = {":window": window_ms, ":passed": successes, ":failed": failures}
        is_same, is_first = f"{window} = :window", f"attribute_not_exists({window})"
        is_newer = f"{window} < :window"
        add = (f"ADD {passed} :passed, {failed} :failed", is_same)
        begin = (
            f"SET {window} = :window, {passed} = :passed, {failed} = :failed",
            f"{is_first} OR {is_newer}",
        )
        # The third: another worker has begun the window between the first two.
        for change, condition in (add, begin, add):
            stored = self._update(target, change, condition, values)
            if stored is not None:
                return stored.breaker(part)
        return self.read(target).breaker(part)

    def swap(self, target: str, part: Part, before: Breaker, after: Breaker) -> bool:
        values = {f":{name}": _plain(getattr(after, name)) for name in STATE}
        change = "SET " + ", ".join(f"{part}_{name} = :{name}" for name in STATE)
        condition = f"attribute_not_exists({part}_state)"
        if before.since_ms:
            condition = " AND ".join(f"{part}_{name} = :before_{name}" for name in IDENTITY)
            values |= {f":before_{name}": _plain(getattr(before, name)) for name in IDENTITY}
        return self._update(target, change, condition, values) is not None

    def cool(self, target: str, *, until_ms: int, after: int) -> Cooldown:
        begin_or_raise = (
            "SET cooldown_until_ms = :until, cooldown_throttles ="
            " if_not_exists(cooldown_throttles, :none) + :one REMOVE cooldown_claimed_until_ms",
            f"{NO_COOLDOWN} OR ({SAME_THROTTLES} AND {ENDS_EARLIER})",
            {":until": until_ms, ":after": after, ":none": 0, ":one": 1},
        )
        # Another worker was throttled at the same time, and has raised it already.
        lengthen = ("SET cooldown_until_ms = :until", ENDS_EARLIER, {":until": until_ms})
        for change, condition, values in (begin_or_raise, lengthen):
            stored = self._update(target, change, condition, values)
            if stored is not None:
                return stored.cooldown
        return self.read(target).cooldown

    def claim(self, target: str, *, now_ms: int, until_ms: int) -> bool:
        change = "SET cooldown_claimed_until_ms = :until"
        condition = f"{COOLDOWN_IS_OVER} AND ({NO_CLAIM} OR {CLAIM_IS_OVER})"
        values = {":now": now_ms, ":until": until_ms}
        return self._update(target, change, condition, values) is not None

    def warm(self, target: str, *, after: int) -> None:
        self._update(target, f"REMOVE {', '.join(COOLDOWN)}", SAME_THROTTLES, {":after": after})

    def reserve(
        self, target: str, before: Spent, cost: Cost, caps: Caps, *, now_ms: int
    ) -> Spent | None:
        today = Spent().at(now_ms)
        if not caps.allow(today.plus(cost)):
            return None
        values: dict[str, Any] = {
            ":day": today.day,
            ":month": today.month,
            ":tokens": cost.tokens,
            ":nanousd": cost.nanousd,
        }
        has_tokens, has_dollars = "", ""
        if caps.tokens is not None:
            has_tokens = " AND spent_tokens <= :tokens_room"
            values[":tokens_room"] = caps.tokens - cost.tokens
        if caps.nanousd is not None:
            has_dollars = " AND spent_nanousd <= :nanousd_room"
            values[":nanousd_room"] = caps.nanousd - cost.nanousd
        new_day = "SET spent_day = :day, spent_tokens = :tokens"
        changes = [(ADD_BOTH, IS_CURRENT + has_tokens + has_dollars)]
        if before.at(now_ms) != before:
            # Another worker may begin it meanwhile: then it is an ordinary addition.
            changes = [
                (f"{new_day}, spent_month = :month, spent_nanousd = :nanousd", IS_NEW_MONTH),
                (f"{new_day} ADD spent_nanousd :nanousd", IS_NEW_DAY + has_dollars),
                *changes,
            ]
        for change, condition in changes:
            stored = self._update(target, change, condition, _used(values, f"{change} {condition}"))
            if stored is not None:
                return stored.spent
        return None

    def settle(self, target: str, reserved: Spent, change: Cost) -> None:
        values = {
            ":day": reserved.day,
            ":month": reserved.month,
            ":tokens": change.tokens,
            ":nanousd": change.nanousd,
        }
        of_the_month = "ADD spent_nanousd :nanousd"
        for text, condition in ((ADD_BOTH, IS_SAME), (of_the_month, IS_SAME_MONTH)):
            used = _used(values, f"{text} {condition}")
            if self._update(target, text, condition, used, client=self._once) is not None:
                return

    def raise_budget(self, target: str, before: Raised, after: Raised) -> bool:
        change = "SET " + ", ".join(f"raised_{name} = :{name}" for name in RAISED)
        values = {f":{name}": getattr(after, name) for name in RAISED}
        condition = "attribute_not_exists(raised_since_ms)"
        if before.since_ms:
            condition, values[":before"] = "raised_since_ms = :before", before.since_ms
        return self._update(target, change, condition, values) is not None

    def note_index(self, target: str, *, before: str, after: str) -> bool:
        condition = f"{INDEX_UUID} = :before" if before else f"attribute_not_exists({INDEX_UUID})"
        values = {":after": after} | ({":before": before} if before else {})
        return self._update(target, f"SET {INDEX_UUID} = :after", condition, values) is not None

    def _update(
        self,
        target: str,
        change: str,
        condition: str,
        values: Mapping[str, Any],
        *,
        client: "DynamoDBClient | None" = None,
    ) -> Control | None:
        """Change the item; return it, or None where the condition does not hold."""
        with store_failures(f"writing the control item in table {self._table}"):
            try:
                answer = (client or self._client).update_item(
                    TableName=self._table,
                    Key=_key(target),
                    UpdateExpression=change,
                    ConditionExpression=condition,
                    ExpressionAttributeValues=to_dynamodb(values),
                    ReturnValues="ALL_NEW",
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                return None
        return _control(answer["Attributes"])


def _key(target: str) -> Any:
    return {"row_key": {"S": f"{CONTROL_PREFIX}/{target}"}}


def _used(values: Mapping[str, Any], expression: str) -> dict[str, Any]:
    """Leave out the values that an expression does not name: DynamoDB refuses them."""
    return {name: value for name, value in values.items() if re.search(rf"{name}\b", expression)}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def _control(item: Mapping[str, Any]) -> Control:
    """Read each attribute into the part that its name begins with."""
    values = from_dynamodb(item)
    parts: dict[str, Any] = {INDEX_UUID: values.pop(INDEX_UUID, "")}
    for name, value in values.items():
        part, _, field = name.partition("_")
        parts.setdefault(part, {})[field] = value
    try:
        return CONTROL.validate_python(parts)
    except ValidationError as error:
        message = f"the control item cannot be read: {error.errors()[0]['msg']}"
        raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, message)) from error
