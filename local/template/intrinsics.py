"""CloudFormation's intrinsic functions -> plain values. Pure: names are resolved by `References`.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

# ${Name}, ${Id.Attribute}, ${AWS::Region}; ${!Literal} stays.
_PLACEHOLDER = re.compile(r"\$\{(!?)([^}]*)\}")


class TemplateError(Exception):
    """The template says something that one-machine mode cannot follow."""


class References(Protocol):
    """Knows what the names of a template stand for."""

    def ref(self, name: str) -> str:
        """Return what Ref gives for a resource or parameter."""

    def attribute(self, logical_id: str, name: str) -> str:
        """Return what Fn::GetAtt gives for a resource."""


class _NoValue:
    """AWS::NoValue: the property or item that holds it is left out."""


_NO_VALUE = _NoValue()


def resolve(value: Any, references: References) -> Any:
    """Replace every intrinsic function inside a value."""
    found = _resolve(value, references)
    if found is _NO_VALUE:
        raise TemplateError("AWS::NoValue stands where a value is needed")
    return found


def _resolve(value: Any, references: References) -> Any:
    if isinstance(value, list):
        return _without_gaps_list(_resolve(item, references) for item in value)
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        name, argument = next(iter(value.items()))
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](argument, references)
        if name.startswith("Fn::") or name == "Condition":
            raise TemplateError(f"{name} is not known to one-machine mode")
    resolved = {key: _resolve(item, references) for key, item in value.items()}
    return {key: item for key, item in resolved.items() if item is not _NO_VALUE}


def _without_gaps_list(items: Any) -> list[Any]:
    return [item for item in items if item is not _NO_VALUE]


def _ref(argument: Any, references: References) -> Any:
    return _NO_VALUE if argument == "AWS::NoValue" else references.ref(argument)


def _get_attribute(argument: Any, references: References) -> str:
    parts = argument.split(".", 1) if isinstance(argument, str) else argument
    logical_id, name = parts
    return references.attribute(logical_id, resolve(name, references))


def _join(argument: Any, references: References) -> str:
    separator, parts = argument
    return str(separator).join(_text(part) for part in resolve(parts, references))


def _select(argument: Any, references: References) -> Any:
    index, items = resolve(argument, references)
    try:
        return items[int(index)]
    except IndexError as error:
        raise TemplateError(f"Fn::Select: there is no item {index} of {len(items)}") from error


def _split(argument: Any, references: References) -> list[str]:
    separator, text = resolve(argument, references)
    return str(text).split(separator)


def _substitute(argument: Any, references: References) -> str:
    text, given = (argument, {}) if isinstance(argument, str) else argument
    values: Mapping[str, Any] = resolve(given, references)

    def replacement(match: re.Match[str]) -> str:
        is_literal, name = match.groups()
        if is_literal:
            return f"${{{name}}}"
        if name in values:
            return _text(values[name])
        if "." in name:
            return _get_attribute(name, references)
        return references.ref(name)

    return _PLACEHOLDER.sub(replacement, text)


def _text(value: Any) -> str:
    # CloudFormation writes booleans as JSON does.
    return str(value).lower() if isinstance(value, bool) else str(value)


_FUNCTIONS: dict[str, Callable[[Any, References], Any]] = {
    "Ref": _ref,
    "Fn::GetAtt": _get_attribute,
    "Fn::Join": _join,
    "Fn::Select": _select,
    "Fn::Split": _split,
    "Fn::Sub": _substitute,
}
