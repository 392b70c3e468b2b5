"""Intrinsic functions, one row each."""

from typing import Any

import pytest

from local.template.intrinsics import TemplateError, resolve


class Names:
    """A queue called Lane, a region, and nothing else."""

    def ref(self, name: str) -> str:
        known = {"Lane": "http://here/lane", "AWS::Region": "us-east-1"}
        if name not in known:
            raise TemplateError(name)
        return known[name]

    def attribute(self, logical_id: str, name: str) -> str:
        return f"{logical_id}'s {name}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", "text"),
        (7, 7),
        ({"Ref": "Lane"}, "http://here/lane"),
        ({"Ref": "AWS::Region"}, "us-east-1"),
        ({"Fn::GetAtt": ["Lane", "Arn"]}, "Lane's Arn"),
        ({"Fn::GetAtt": "Lane.Arn"}, "Lane's Arn"),
        ({"Fn::Join": ["-", ["a", {"Ref": "AWS::Region"}, 3, True]]}, "a-us-east-1-3-true"),
        ({"Fn::Join": [",", {"Fn::Split": ["/", "a/b"]}]}, "a,b"),
        ({"Fn::Select": ["1", ["a", "b"]]}, "b"),
        ({"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "Lane"}]}]}, "here"),
        ({"Fn::Sub": "x-${AWS::Region}-${Lane.Arn}"}, "x-us-east-1-Lane's Arn"),
        ({"Fn::Sub": ["${a}${Lane}", {"a": {"Ref": "AWS::Region"}}]}, "us-east-1http://here/lane"),
        ({"Fn::Sub": "${!kept}"}, "${kept}"),
        ([1, {"Ref": "AWS::NoValue"}, 2], [1, 2]),
        ({"a": {"Ref": "AWS::NoValue"}, "b": {"c": {"Ref": "Lane"}}}, {"b": {"c": "http://here/lane"}}),
    ],
    ids=str,
)  # fmt: skip
def test_intrinsic_functions_become_plain_values(value: Any, expected: Any) -> None:
    """R82: the template is read as CloudFormation reads it."""
    assert resolve(value, Names()) == expected


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"Fn::ImportValue": "x"}, "Fn::ImportValue is not known"),
        ({"Fn::If": ["a", 1, 2]}, "Fn::If is not known"),
        ({"Ref": "Nobody"}, "Nobody"),
        ({"Fn::Select": [5, ["a"]]}, "no item 5 of 1"),
        ({"Ref": "AWS::NoValue"}, "where a value is needed"),
    ],
    ids=str,
)
def test_what_cannot_be_followed_is_an_error(value: Any, said: str) -> None:
    """R82: nothing of the template is guessed."""
    with pytest.raises(TemplateError, match=said):
        resolve(value, Names())
