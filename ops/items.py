"""The items of a source's table: found by an id as a person writes it, and read from JSON."""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, DecimalException
from pathlib import Path
from typing import TYPE_CHECKING, Any

from functions.core.identity import DocumentId, document_id, is_unicode, item_key, row_key
from functions.core.lane import lane_for
from functions.core.settings import SourceSettings
from ops.output import UsageError, say

if TYPE_CHECKING:
    from ops.deployment import Deployment

Item = dict[str, Any]
Key = dict[str, Any]

# Python also reads spaces around a number, and 1_000.
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,9})?", re.IGNORECASE)
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
NUMBER_DIGITS = 38
NUMBER_EXPONENTS = range(-130, 126)
NESTED_LEVELS = 100  # DynamoDB itself refuses more than 32
KEY_TYPES = {"S": "a text", "N": "a number", "B": "bytes in base64"}


def find_item(
    deployment: "Deployment", source: SourceSettings, key: Mapping[str, Any]
) -> Item | None:
    """Return the item of a key, read consistently; None where there is none."""
    from functions.adapters.dynamodb_values import from_dynamodb

    answer = deployment.dynamodb.get_item(
        TableName=source.table, Key=dict(key), ConsistentRead=True
    )
    return from_dynamodb(answer["Item"]) if "Item" in answer else None


def possible_keys(written: str, attributes: Sequence[str]) -> list[dict[str, str]]:
    """Return the keys that a person may mean.

    The values of a composite key are written as they are in the table, with | between them: a
    value may hold one too. Or they are copied from an id, which spells such values otherwise.
    """
    if len(attributes) == 1:
        return [{attributes[0]: written}]
    parts = written.split("|")
    pairs: list[tuple[str, ...]] = [
        ("|".join(parts[:n]), "|".join(parts[n:])) for n in range(1, len(parts))
    ]
    if len(parts) == len(attributes):
        copied = item_key(DocumentId(written), dict.fromkeys(attributes, "S"))
        pairs.append(tuple(copied[name]["S"] for name in attributes))
    return [dict(zip(attributes, pair, strict=True)) for pair in dict.fromkeys(pairs)]


def read_key(
    deployment: "Deployment", source: SourceSettings, written: str
) -> tuple[DocumentId, Key]:
    """Return the id and the key of a document: of its item, of its ledger row, or as written."""
    types = deployment.key_types(source.table)
    keys = _keys_by_type(written, source, types)
    if not keys:
        raise _no_key(written, source, types)
    found = [key for key in keys if find_item(deployment, source, key) is not None]
    if len(found) > 1:
        names = json.dumps([_event_key(key, source) for key in found])
        raise UsageError(f"which one? {written!r} may be any of these keys: {names}")
    chosen = (found or _in_ledger(deployment, source, keys) or keys)[0]
    return id_of(chosen, source), chosen


def ids_by_type(deployment: "Deployment", source: SourceSettings, written: str) -> list[DocumentId]:
    """Return the ids that a person may mean, with numbers as the table spells them."""
    keys = _keys_by_type(written, source, deployment.key_types(source.table))
    return [id_of(key, source) for key in keys]


def _keys_by_type(written: str, source: SourceSettings, types: Mapping[str, str]) -> list[Key]:
    meant = [_typed(values, types) for values in possible_keys(written, source.key)]
    return [key for key in meant if key is not None]


def _in_ledger(deployment: "Deployment", source: SourceSettings, keys: Sequence[Key]) -> list[Key]:
    """Return the keys of which the ledger has a row: of items that were deleted."""
    if len(keys) == 1:
        return []
    rows = {
        row_key(target, source.name, id_of(key, source)): key
        for key in keys
        for target in source.targets
    }
    return [rows[found] for found in deployment.ledger.read(rows)]


def typed_key(deployment: "Deployment", source: SourceSettings, values: Mapping[str, Any]) -> Key:
    """Spell a key as the table has it; a text may stand for a number."""
    types = deployment.key_types(source.table)
    key = _typed(values, types)
    if key is None:
        raise _no_key(dict(values), source, types)
    return key


def spell_key(item: Mapping[str, Any], source: SourceSettings) -> Key:
    """Return the key of an item as DynamoDB will spell it.

    It finds an item by the value of a number, however that is written: an id of another spelling
    would be a second document of the same item, which a delete of the item leaves behind.
    """
    return {name: _spelled(item[name]) for name in source.key}


def python_key(values: Mapping[str, Any], source: SourceSettings) -> Key:
    """Spell a key by its values alone: a text as it stands, as the ledger has it, or a number."""
    return {name: _of_python(values[name], name, source) for name in source.key}


def _of_python(value: object, name: str, source: SourceSettings) -> Mapping[str, Any]:
    match value:
        case bool():
            pass
        case str() if value:
            return {"S": value}
        case bytes() if value:
            return {"B": value}
        case int() | Decimal() if (number := spell_number(str(value))) is not None:
            return {"N": number}
    raise UsageError(
        f"{name.upper()} of table {source.table} cannot be {value!r}: pass a text as the"
        " ledger has it, an int or a Decimal of at most 38 digits, or bytes"
    )


def id_of(key: Mapping[str, Any], source: SourceSettings) -> DocumentId:
    """Return the id of a document by its key as DynamoDB spells it."""
    return document_id(_event_key(key, source), source.key)


def spell_number(written: str) -> str | None:
    """Spell a number as DynamoDB does, with all its digits; None if it cannot hold it.

    So does DynamoDB Local; moto keeps each spelling, and takes two of them for two keys.
    """
    if not NUMBER.fullmatch(written):
        return None
    number = Decimal(written)
    if not number:
        return "0"
    # Before the digits are written: those of 1E999999999 fill the memory.
    if number.adjusted() not in NUMBER_EXPONENTS:
        return None
    digits = f"{number:f}"
    if len(digits.lstrip("-").replace(".", "").strip("0")) > NUMBER_DIGITS:
        return None
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _spelled(value: Mapping[str, Any]) -> Mapping[str, Any]:
    match value:
        case {"N": written}:
            number = spell_number(written)
            if number is None:
                raise UsageError(f"DynamoDB cannot hold the number {written}")
            return {"N": number}
    return value


def _typed(values: Mapping[str, Any], types: Mapping[str, str]) -> Key | None:
    """Give the values of a key the types of their table; None where one cannot have its type."""
    typed = {name: _typed_value(value, types[name]) for name, value in values.items()}
    return None if None in typed.values() else typed


def _typed_value(value: object, kind: str) -> Mapping[str, Any] | None:
    match kind, value:
        case "S", str() if value:
            return {"S": value}
        case "N", str() | int() | Decimal():
            number = spell_number(str(value))
            return None if number is None else {"N": number}
        case "B", bytes():
            return {"B": value}
        case "B", str():
            return _bytes(value)
    return None


def _bytes(text: str) -> Mapping[str, Any] | None:
    try:
        return {"B": base64.b64decode(text, validate=True)}
    except ValueError:
        return None


def _event_key(key: Mapping[str, Any], source: SourceSettings) -> dict[str, dict[str, str]]:
    from functions.adapters.dynamodb_values import event_key

    return event_key(key, source.key)


def _no_key(written: object, source: SourceSettings, types: Mapping[str, str]) -> UsageError:
    names = "|".join(f"{name.upper()} ({KEY_TYPES[types[name]]})" for name in source.key)
    return UsageError(f"{written!r} is no key of table {source.table}: it is {names}")


def read_items(item: str | None, file: Path | None, source: SourceSettings) -> list[Item]:
    """Return the items of an argument or of a file of JSON lines, as DynamoDB spells them."""
    if (item is None) == (file is None):
        raise UsageError("name one item as JSON, or --file with one item a line (- for stdin)")
    if item is not None:
        hint = "" if item.lstrip().startswith("{") else "; a file is named with --file"
        return [_checked(item, source, "the item", hint)]
    try:
        return list(_lines(file or Path("-"), source))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None


def _lines(file: Path, source: SourceSettings) -> Iterator[Item]:
    import click

    name = "standard input" if str(file) == "-" else file
    with click.open_file(str(file), encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _checked(line, source, f"line {number} of {name}", "; each line is one item")


def _checked(text: str, source: SourceSettings, where: str, hint: str) -> Item:
    from functions.adapters.dynamodb_values import to_dynamodb

    key = ", ".join(source.key)
    parsed = _parsed(text, where, hint)
    if not isinstance(parsed, dict):
        raise UsageError(
            f"{where} is a JSON {_kind(parsed)}: expected is an object with the key {key}"
        )
    if missing := [name for name in source.key if name not in parsed]:
        raise UsageError(
            f"{where} has no {', '.join(missing)}: expected is an object with the key {key}"
        )
    if wrong := [name for name in source.key if not _is_key(parsed[name])]:
        raise UsageError(f"{where} has a wrong {', '.join(wrong)}: a key is a text or a number")
    _say_priority(parsed, source, where)
    try:
        return to_dynamodb(parsed)
    except DecimalException:
        raise UsageError(
            f"{where} has a number that DynamoDB cannot hold: more than 38 digits, or too large"
        ) from None


def _parsed(text: str, where: str, hint: str) -> Any:
    """Read JSON of which DynamoDB may take everything."""
    try:
        parsed = json.loads(text, parse_float=Decimal, parse_constant=_refuse)
        is_deep = _is_deep(parsed)
    except RecursionError:
        is_deep = True
    except ValueError as error:
        raise UsageError(f"{where} is not JSON: {error}{hint}") from None
    if is_deep:
        raise UsageError(f"{where} is nested too deeply: DynamoDB takes 32 levels")
    if not is_unicode(json.dumps(parsed, ensure_ascii=False, default=str)):
        raise UsageError(f"{where} has half of a character (such as \\ud800), which is no text")
    return parsed


def _is_deep(value: object) -> bool:
    """Tell whether a value is nested so deeply that functions that call themselves fail."""
    values = [value]
    for _ in range(NESTED_LEVELS):
        values = [inner for one in values for inner in _inside(one)]
    return bool(values)


def _inside(value: object) -> Iterable[object]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
    return ()


def _is_key(value: object) -> bool:
    return isinstance(value, str | int | Decimal) and not isinstance(value, bool)


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
