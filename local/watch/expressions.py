"""Metric math: the part of CloudWatch's language that the template's alarms and panels use.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
A series has a value or nothing for each period; what is made from a missing value is missing.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Series = list[float | None]

_OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_OF_MANY: dict[str, Callable[[Sequence[float]], float]] = {"MAX": max, "MIN": min, "SUM": sum}


class ExpressionError(ValueError):
    """An expression uses what is not known here."""


def evaluate(expression: str, series: Mapping[str, Series], length: int) -> Series:
    """Return the value of an expression in each period."""
    # Its grammar is that of Python, but for the names of two operators.
    text = re.sub(r"\bAND\b|&&", " and ", re.sub(r"\bOR\b|\|\|", " or ", expression))
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ExpressionError(f"not understood: {expression}") from None
    return _Evaluation(series, length).value(tree)


class _Evaluation:
    def __init__(self, series: Mapping[str, Series], length: int) -> None:
        self._series = series
        self._length = length

    def value(self, node: ast.AST) -> Series:
        match node:
            case ast.Constant(value=int() | float() as number):
                return [float(number)] * self._length
            case ast.Name(id=name) if name in self._series:
                return self._series[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return [None if one is None else -one for one in self.value(operand)]
            case ast.BinOp(left=left, op=op, right=right):
                return self._joined(op, left, right)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._joined(op, left, right)
            case ast.BoolOp(op=op, values=values):
                return self._logical(op, [self.value(one) for one in values])
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._called(name, args)
        raise ExpressionError(f"not known here: {ast.unparse(node)}")

    def _joined(self, op: ast.AST, left: ast.AST, right: ast.AST) -> Series:
        apply = _OPERATORS.get(type(op))
        if apply is None:
            raise ExpressionError(f"not known here: {type(op).__name__}")
        pairs = zip(self.value(left), self.value(right), strict=True)
        return [_applied(apply, one, other) for one, other in pairs]

    def _logical(self, op: ast.AST, parts: list[Series]) -> Series:
        decide = all if isinstance(op, ast.And) else any
        return [
            None if any(one is None for one in values) else float(decide(values))
            for values in zip(*parts, strict=True)
        ]

    def _called(self, name: str, args: list[Any]) -> Series:
        match name, args:
            case "FILL", [series, ast.Constant(value=int() | float() as filling)]:
                return [float(filling) if one is None else one for one in self.value(series)]
            case "IF", [condition, then, otherwise]:
                choices = zip(*map(self.value, (condition, then, otherwise)), strict=True)
                return [
                    None if chosen is None else (yes if chosen else no)
                    for chosen, yes, no in choices
                ]
            case (("MAX" | "MIN" | "SUM"), [ast.List(elts=parts)]):
                columns = zip(*map(self.value, parts), strict=True)
                return [_reduced(_OF_MANY[name], column) for column in columns]
        raise ExpressionError(f"not known here: {name} with {len(args)} arguments")


def _applied(
    apply: Callable[[float, float], float], one: float | None, other: float | None
) -> float | None:
    if one is None or other is None:
        return None
    try:
        return float(apply(one, other))
    except ZeroDivisionError:
        return None


def _reduced(
    reduce: Callable[[Sequence[float]], float], column: Sequence[float | None]
) -> float | None:
    known = [one for one in column if one is not None]
    return float(reduce(known)) if known else None
