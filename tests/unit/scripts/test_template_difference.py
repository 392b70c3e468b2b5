"""CloudFormation's rules of an update, on templates of one or two resources."""

from typing import Any

import pytest

from scripts.template_difference import Effect, difference


def template(**resources: dict[str, Any]) -> dict[str, Any]:
    """Return a template of these resources."""
    return {"Resources": resources}


def resource(kind: str, policy: str | None = None, **properties: Any) -> dict[str, Any]:
    """Return a resource; the policy is for its removal and its replacement."""
    policies = {"DeletionPolicy": policy, "UpdateReplacePolicy": policy} if policy else {}
    return {"Type": kind, "Properties": properties, **policies}


def table(key: str = "id", policy: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a table with a key."""
    schema = [{"AttributeName": key, "KeyType": "HASH"}]
    return resource("AWS::DynamoDB::Table", policy, KeySchema=schema, **more)


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ({}, {"T": table()}, Effect.ADDS),
        ({"T": table()}, {"T": table()}, None),
        ({"T": table()}, {"T": table(BillingMode="PROVISIONED")}, Effect.CHANGES),
        ({"T": table()}, {"T": table(policy="Retain")}, Effect.CHANGES),
        ({"T": table()}, {"T": table("other")}, Effect.REPLACES),
        ({"T": table()}, {"T": table("other", "Retain")}, Effect.REPLACES_AND_KEEPS),
        ({"T": table()}, {}, Effect.DELETES),
        ({"T": table(policy="RetainExceptOnCreate")}, {}, Effect.LEAVES),
        ({"T": resource("Custom::EmbedqIndex", "Delete", Index="a")}, {}, Effect.LEAVES),
    ],
)
def test_resource_is_changed_replaced_or_removed_by_the_schema_and_its_policies(
    before: dict[str, Any], after: dict[str, Any], effect: Effect | None
) -> None:
    """R01: what an update does with a resource is known before it is deployed."""
    found = difference(template(**before), template(**after))

    assert [one.effect for one in found] == ([effect] if effect else [])


def test_what_reads_a_replaced_resource_is_replaced_with_it() -> None:
    """R01: a mapping cannot go over to another stream."""
    source = {"Fn::GetAtt": ["Table", "StreamArn"]}
    mapping = resource("AWS::Lambda::EventSourceMapping", EventSourceArn=source, FunctionName="f")

    found = difference(
        template(Table=table(), Mapping=mapping), template(Table=table("other"), Mapping=mapping)
    )

    assert {one.name: one.effect for one in found} == {
        "Table": Effect.REPLACES,
        "Mapping": Effect.REPLACES,
    }


def test_second_resource_of_one_name_is_refused() -> None:
    """R01: CloudFormation makes the new one before it deletes the old one."""
    queue = resource("AWS::SQS::Queue", QueueName="mine")
    other = resource("AWS::SQS::Queue", QueueName="other")

    found = difference(template(Old=queue), template(New=queue, Other=other))

    assert {one.name: one.is_refused for one in found} == {
        "Old": False,
        "New": True,
        "Other": False,
    }


def test_name_of_what_an_earlier_stack_left_is_refused() -> None:
    """R01: a queue that was kept has its name still."""
    queue = resource("AWS::SQS::Queue", QueueName="mine")

    [found] = difference(template(), template(New=queue), {"Left": queue})

    assert found.is_refused
