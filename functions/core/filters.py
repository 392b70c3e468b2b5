"""Conditions on metadata, as people write them: `author=aesop`, `published>=2024-08-01`. Pure.

Every value is checked against the type that a source gives the field: what could find nothing by a
typing error is refused, in words.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite

from functions.core.settings import MetadataType

Value = str | int | float | bool

_CONDITION = re.compile(
    r"\s*(?P<field>[A-Za-z0-9][A-Za-z0-9_-]*)\s*(?P<operator>>=|<=|=|>|<)(?P<value>(?!=).*)",
    re.DOTALL,
)
# Also without dashes, as Python and `read_document` take it; no weeks, which nobody means.
_DAY = re.compile(r"\d{4}-?\d{2}-?\d{2}")
_DATE = re.compile(rf"{_DAY.pattern}([T ].+)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_EXAMPLES: Mapping[MetadataType, str] = {
    "long": "a whole number such as 2024",
    "double": "a number such as 0.5",
    "boolean": "true or false",
    "date": "a date such as 2024-08-01 or 2024-08-01T12:00:00Z",
}
_LONG_END = 2**63


class FilterError(ValueError):
    """A condition that no search can answer; says what is allowed."""


@dataclass(frozen=True)
class Test:
    """One value of a field, or a range of them: at least `low`, below `high`.

    A bound itself is in or out by `with_low` and `with_high`. Dates are milliseconds.
    """

    __test__ = False  # pytest: this is no test case

    field: str
    kind: MetadataType
    value: Value | None = None
    low: float | None = None
    high: float | None = None
    with_low: bool = True
    with_high: bool = False


@dataclass(frozen=True)
class Condition:
    """A document has any of these, or, if `negated`, none of them."""

    tests: tuple[Test, ...]
    negated: bool = False


def conditions(
    wanted: Iterable[str], unwanted: Iterable[str], known: Mapping[str, MetadataType]
) -> tuple[Condition, ...]:
    """Read conditions; those with `=` on one field are alternatives, all others restrict."""
    equal: dict[str, list[Test]] = {}
    others: list[Condition] = []
    for text in wanted:
        operator, test = _read(text, known)
        if operator == "=":
            equal.setdefault(test.field, []).append(test)
        else:
            others.append(Condition((test,)))
    refused = [Condition((_read(text, known)[1],), negated=True) for text in unwanted]
    return (*(Condition(tuple(tests)) for tests in equal.values()), *others, *refused)


def milliseconds(value: object) -> int | None:
    """Return the first millisecond of a date as an entry holds it, text or number."""
    if isinstance(value, int):
        return value
    span = _span(value) if isinstance(value, str) else None
    return span[0] if span else None


def _read(text: str, known: Mapping[str, MetadataType]) -> tuple[str, Test]:
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise FilterError(
            f"{text!r} is no filter: write FIELD=VALUE, or >=, <=, > or < for =; what is not wanted"
            " stands under `not`"
        )
    field, operator, value = found["field"], found["operator"], found["value"].strip()
    if field not in known:
        names = ", ".join(sorted(known)) or "none"
        raise FilterError(f"no source that is asked has the metadata {field}; there is: {names}")
    kind = known[field]
    if operator != "=" and kind not in ("long", "double", "date"):
        raise FilterError(f"{field} is a {kind}, which has no order: write {field}=VALUE")
    if kind == "date":
        return operator, _date_test(field, operator, value)
    if kind == "text" and not any(map(str.isalnum, value)):
        raise FilterError(f"{field} is a text: name words of it, not {value!r}")
    typed = _typed(field, kind, value)
    if isinstance(typed, str) or operator == "=":
        return operator, Test(field, kind, typed)
    return operator, _number_test(field, kind, operator, typed)


def _typed(field: str, kind: MetadataType, text: str) -> Value:
    try:
        return _converted(kind, text)
    except ValueError:
        raise FilterError(f"{field} is {_EXAMPLES[kind]}, not {text!r}") from None


def _converted(kind: MetadataType, text: str) -> Value:
    match kind:
        case "long":
            number = int(text)
            if not -_LONG_END <= number < _LONG_END:
                raise ValueError
            return number
        case "double":
            real = float(text)
            if not isfinite(real):
                raise ValueError
            return real
        case "boolean":
            if text not in ("true", "false"):
                raise ValueError
            return text == "true"
        case _:
            return text


def _number_test(field: str, kind: MetadataType, operator: str, number: float) -> Test:
    included = operator.endswith("=")
    if operator.startswith(">"):
        return Test(field, kind, low=number, with_low=included)
    return Test(field, kind, high=number, with_high=included)


def _date_test(field: str, operator: str, text: str) -> Test:
    span = _span(text)
    if span is None:
        raise FilterError(f"{field} is {_EXAMPLES['date']}, not {text!r}")
    begin, end = span
    match operator:
        case "=":
            return Test(field, "date", low=begin, high=end)
        case ">=":
            return Test(field, "date", low=begin)
        case ">":
            return Test(field, "date", low=end)
        case "<":
            return Test(field, "date", high=begin)
        case _:
            return Test(field, "date", high=end)


def _span(text: str) -> tuple[int, int] | None:
    """Return the first millisecond of a day or a moment, and the first one after it."""
    try:
        moment = datetime.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None
    if moment is None:
        return None
    # As OpenSearch reads a date without a zone.
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    length = timedelta(days=1) if _DAY.fullmatch(text) else _MILLISECOND
    begin = (moment - _EPOCH) // _MILLISECOND
    return begin, begin + length // _MILLISECOND


def merged(sources: Sequence[Mapping[str, MetadataType]]) -> dict[str, MetadataType]:
    """Return the metadata of all sources; a field has one type in a target."""
    return {field: kind for metadata in sources for field, kind in metadata.items()}
