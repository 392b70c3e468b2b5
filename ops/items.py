"""The items of a source's table: found by an id as a person writes it, and read from JSON."""

import base64
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal, DecimalException, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from functions.core.identity import DocumentId, document_id
from functions.core.lane import lane_for
from functions.core.settings import SourceSettings
from ops.document_rows import possible_keys
from ops.output import UsageError, say

if TYPE_CHECKING:
    from ops.deployment import Deployment

Item = dict[str, Any]


def find_item(
    deployment: "Deployment", source: SourceSettings, key: Mapping[str, Any]
) -> Item | None:
    """Return the item of a key, read consistently; None where there is none."""
    from functions.adapters.dynamodb_values import from_dynamodb

    answer = deployment.dynamodb.get_item(
        TableName=source.table, Key=dict(key), ConsistentRead=True
    )
    return from_dynamodb(answer["Item"]) if "Item" in answer else None


def read_key(
    deployment: "Deployment", source: SourceSettings, written: str
) -> tuple[DocumentId, dict[str, Any]]:
    """Return the id and the key of a document: of its item, of its ledger row, or as written."""
    types = deployment.key_types(source.table)
    keys = [
        {name: {types[name]: value} for name, value in key.items()}
        for key in possible_keys(written, source.key)
        if all(types[name] != "N" or _is_number(value) for name, value in key.items())
    ]
    if not keys:
        names = "|".join(source.key).upper()
        raise UsageError(f"{written!r} is no key of table {source.table}: it is {names}")
    found = [key for key in keys if find_item(deployment, source, key) is not None]
    if len(found) > 1:
        raise UsageError(f"which one? {written!r} may be any of these keys: {json.dumps(found)}")
    chosen = (found or keys)[0]
    return document_id(chosen, source.key), chosen


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def read_items(item: str | None, file: Path | None, source: SourceSettings) -> list[Item]:
    """Return the items of an argument or of a file of JSON lines, as DynamoDB spells them."""
    if (item is None) == (file is None):
        raise UsageError("name one item as JSON, or --file with one item a line (- for stdin)")
    if item is not None:
        return [_checked(item, source, "the item")]
    try:
        return list(_lines(file or Path("-"), source))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None


def _lines(file: Path, source: SourceSettings) -> Iterator[Item]:
    import click

    name = "standard input" if str(file) == "-" else file
    with click.open_file(str(file), encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _checked(line, source, f"line {number} of {name}")


def _checked(text: str, source: SourceSettings, where: str) -> Item:
    from functions.adapters.dynamodb_values import to_dynamodb

    key = ", ".join(source.key)
    try:
        parsed = json.loads(text, parse_float=Decimal, parse_constant=_refuse)
    except ValueError as error:
        raise UsageError(f"{where} is not JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise UsageError(
            f"{where} is a JSON {_kind(parsed)}: expected is an object with the key {key}"
        )
    if missing := [name for name in source.key if name not in parsed]:
        raise UsageError(
            f"{where} has no {', '.join(missing)}: expected is an object with the key {key}"
        )
    _say_priority(parsed, source, where)
    try:
        return to_dynamodb(parsed)
    except DecimalException:
        raise UsageError(
            f"{where} has a number that DynamoDB cannot hold: more than 38 digits, or too large"
        ) from None


def _say_priority(parsed: Mapping[str, Any], source: SourceSettings, where: str) -> None:
    asked = parsed.get(source.priority_attribute or "")
    if asked is not None and lane_for(str(asked)) is None:
        say(
            f"{where} asks for the priority {asked!r}, which is none of high, normal and low"
            " (or bulk): it takes the lane normal"
        )


def plain(value: Any) -> Any:
    """Spell a value of an item as JSON does: sets as arrays, bytes in base64."""
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case dict():
            return {name: plain(one) for name, one in value.items()}
        case set():
            return sorted(map(plain, value), key=str)
        case list():
            return [plain(one) for one in value]
    # DynamoDB's own type of bytes.
    return base64.b64encode(value.value).decode() if hasattr(value, "value") else value


def _kind(value: object) -> str:
    names = {str: "string", list: "array", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")
