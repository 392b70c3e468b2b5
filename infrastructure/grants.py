"""What each function may do, and to what: every statement names its actions and resources."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from functions.core.names import EVENT_SOURCE
from infrastructure.acknowledgments import acknowledge

CONTROL_PREFIX = "control/"


def allow(
    role: iam.Role,
    actions: Sequence[str],
    resources: Iterable[str],
    *,
    wildcard_reason: str = "",
    only: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Let a role do the actions to the resources. A wildcard needs a written reason."""
    named = list(resources)
    for resource in named:
        if "*" in resource:
            if not wildcard_reason:
                raise ValueError(f"{resource}: a wildcard needs a reason")
            finding = f"IAM5[Resource::{_readable(Stack.of(role).resolve(resource))}]"
            acknowledge(role, finding, wildcard_reason)
    if named:
        role.add_to_policy(
            iam.PolicyStatement(actions=list(actions), resources=named, conditions=only)
        )


def _readable(resolved: Any) -> str:
    """Spell an ARN as the security scan does: references in angle brackets."""
    match resolved:
        case {"Fn::Join": [str(separator), [*parts]]}:
            return separator.join(map(_readable, parts))
        case {"Fn::GetAtt": [*names]}:
            return f"<{'.'.join(map(str, names))}>"
        case {"Ref": str(name)}:
            return f"<{name}>"
        case _:
            return str(resolved)


def control_items(*targets: str) -> dict[str, dict[str, Any]]:
    """Limit a grant on the ledger to the control items of some targets.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
    """
    keys = [f"{CONTROL_PREFIX}{target}" for target in targets]
    return {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": keys}}


# https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-conditions.html
OWN_EVENTS = {"ForAllValues:StringEquals": {"events:source": EVENT_SOURCE}}

# https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html
READ_STREAM = (
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
)
# Lambda asks for it before it leaves failed records; and without it S3 answers a read of an
# absent object with "access denied" instead of "no such key".
LIST_BUCKET = ("s3:ListBucket",)
WRITE_OBJECTS = ("s3:PutObject",)
READ_AND_WRITE_OBJECTS = ("s3:GetObject", "s3:PutObject")
TAKE_OBJECTS = ("s3:GetObject", "s3:DeleteObject")
READ_ITEMS = ("dynamodb:BatchGetItem",)
SWAP_ROWS = ("dynamodb:BatchGetItem", "dynamodb:PutItem")
LIST_ROWS = ("dynamodb:Query",)
REMOVE_ROWS = ("dynamodb:DeleteItem",)
# Single items beside the rows: breakers, cooldowns, and where a sweep stopped.
READ_ITEM = ("dynamodb:GetItem",)
READ_AND_CHANGE_ITEM = ("dynamodb:GetItem", "dynamodb:UpdateItem")
SEND_TASKS = ("sqs:SendMessage",)
COUNT_TASKS = ("sqs:GetQueueAttributes",)
# The last one is embed's own: it backs off by visibility.
RECEIVE_TASKS = (
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ChangeMessageVisibility",
)
READ_SECRET = ("secretsmanager:GetSecretValue",)
DECRYPT = ("kms:Decrypt",)
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/ac.html
READ_AND_WRITE_ENTRIES = ("es:ESHttpPost",)
READ_MAPPING = ("es:ESHttpGet",)
CHANGE_INDEX = ("es:ESHttpPut",)
PUT_EVENTS = ("events:PutEvents",)
# https://docs.aws.amazon.com/lambda/latest/dg/lambda-api-permissions-ref.html
SWITCH_MAPPINGS = ("lambda:GetEventSourceMapping", "lambda:UpdateEventSourceMapping")
CALL_FUNCTION = ("lambda:InvokeFunction",)
