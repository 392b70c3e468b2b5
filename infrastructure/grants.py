"""What each function may do, and to what: every statement names its actions and resources."""

from collections.abc import Iterable, Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from infrastructure.acknowledgments import acknowledge


def allow(
    role: iam.Role, actions: Sequence[str], resources: Iterable[str], *, wildcard_reason: str = ""
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
        role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=named))


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
READ_ITEMS = ("dynamodb:BatchGetItem",)
SWAP_ROWS = ("dynamodb:BatchGetItem", "dynamodb:PutItem")
SEND_TASKS = ("sqs:SendMessage",)
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
