"""What each function may do, and to what: every statement names its actions and resources.

All grants are here, one function below for each function of the pipeline.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from functions.core.names import (
    CONTROL_PREFIX,
    EVENT_SOURCE,
    first_index,
    read_alias,
    tenant_item,
)
from infrastructure.api_key import ApiKey
from infrastructure.bedrock import model_arns
from infrastructure.encryption import via
from infrastructure.names import bus_name
from infrastructure.parts import Parts
from infrastructure.sources import SourceTable

# https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-conditions.html
OWN_EVENTS = {"ForAllValues:StringEquals": {"events:source": EVENT_SOURCE}}

# https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html
READ_STREAM = (
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
)
# Lambda needs it before it leaves failed records; and without it S3 answers a read of an
# absent object with "access denied" instead of "no such key".
LIST_BUCKET = ("s3:ListBucket",)
WRITE_OBJECTS = ("s3:PutObject",)
READ_AND_WRITE_OBJECTS = ("s3:GetObject", "s3:PutObject")
TAKE_OBJECTS = ("s3:GetObject", "s3:DeleteObject")
READ_ITEMS = ("dynamodb:BatchGetItem",)
# https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html
READ_TABLE = ("dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Scan")
# BatchExecuteStatement is allowed by what its statements do.
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-iam.html
CHANGE_ROWS = ("dynamodb:BatchGetItem", "dynamodb:PartiQLUpdate")
MAKE_AND_CHANGE_ROWS = (*CHANGE_ROWS, "dynamodb:PutItem")
LIST_ROWS = ("dynamodb:Query",)
REMOVE_ROWS = ("dynamodb:DeleteItem",)
# Single items beside the rows: breakers, cooldowns, and where a sweep stopped.
READ_ITEM = ("dynamodb:GetItem",)
CHANGE_ITEM = ("dynamodb:UpdateItem",)
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
INVOKE_MODEL = ("bedrock:InvokeModel",)
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/ac.html
READ_AND_WRITE_ENTRIES = ("es:ESHttpPost",)
ASK_INDEX = ("es:ESHttpPost",)
READ_INDEX = ("es:ESHttpGet",)
CHANGE_INDEX = ("es:ESHttpPut",)
MOVE_ALIASES = ("es:ESHttpPost",)
PUT_EVENTS = ("events:PutEvents",)
# https://docs.aws.amazon.com/lambda/latest/dg/lambda-api-permissions-ref.html
SWITCH_MAPPINGS = ("lambda:GetEventSourceMapping", "lambda:UpdateEventSourceMapping")
CALL_FUNCTION = ("lambda:InvokeFunction",)


def grant_all(parts: Parts) -> None:
    """Let each function do its work, and no more."""
    _grant_enqueue(parts)
    for target in parts.embeds:
        _grant_embed(target, parts)
    _grant_index_setup(parts)
    _grant_sweep(parts)
    _grant_backfill(parts)
    _grant_breaker(parts)
    _grant_query(parts)
    _grant_search(parts)


def _grant_enqueue(parts: Parts) -> None:
    role, stores = parts.enqueue.role, parts.stores
    tables = stores.tables.values()
    allow(role, READ_STREAM, [table.stream_arn for table in tables])
    allow(role, DECRYPT, _keys(*tables), only=via(role, "dynamodb"))
    allow(role, MAKE_AND_CHANGE_ROWS, [stores.ledger.table.table_arn])
    allow(role, READ_ITEM, [stores.ledger.table.table_arn], only=control_items(*parts.embeds))
    allow(role, SEND_TASKS, _queues(parts))
    allow(role, LIST_BUCKET, [stores.failed.bucket.bucket_arn])
    allow(role, WRITE_OBJECTS, [stores.failed.objects_arn])


def _grant_embed(target: str, parts: Parts) -> None:
    role, stores = parts.embeds[target].role, parts.stores
    ledger, lanes = stores.ledger.table.table_arn, stores.lanes[target]
    tables = [stores.tables[source] for source in parts.config.sources_of(target)]
    allow(role, RECEIVE_TASKS, lanes.arns())
    # To all: a task whose outcome cannot be written is sent anew to the lane that it came from.
    allow(role, SEND_TASKS, lanes.arns())
    allow(role, READ_ITEMS, [table.arn for table in tables])
    allow(role, CHANGE_ROWS, [ledger], only=rows_of(target))
    allow(role, READ_AND_CHANGE_ITEM, [ledger], only=control_items(target))
    if (budget := parts.config.targets[target].budget) and budget.tenant_tokens_per_day:
        allow(role, READ_AND_CHANGE_ITEM, [ledger], only=tenant_items(target))
    allow(role, PUT_EVENTS, _buses(parts), only=OWN_EVENTS)
    allow(role, DECRYPT, _keys(*tables), only=via(role, "dynamodb"))
    allow_provider(role, target, parts)
    allow(role, LIST_BUCKET, [stores.stash.bucket.bucket_arn])
    allow(role, READ_AND_WRITE_OBJECTS, [stores.stash.objects_arn])
    allow(role, READ_AND_WRITE_ENTRIES, _entries(parts, target))
    if reused := parts.settings.targets[target].reused_index:
        allow(role, ASK_INDEX, stores.index.paths(f"{reused}/_mget"))


def allow_provider(role: iam.Role, target: str, parts: Parts) -> None:
    """Let a role ask a target's provider: with the key in its secret, or by IAM."""
    if key := parts.stores.keys.get(target):
        allow(role, READ_SECRET, [key.arn])
        allow(role, DECRYPT, _keys(key), only=via(role, "secretsmanager"))
        return
    settings = parts.settings.targets[target]
    arns = model_arns(Stack.of(parts.enqueue), settings.model, settings.region)
    allow(role, INVOKE_MODEL, [arns.called])
    # Behind a profile, the model in each of its regions: by the profile alone.
    allow(role, INVOKE_MODEL, arns.behind, only=_through(arns.called))


def _through(profile_arn: str) -> dict[str, dict[str, Any]]:
    """Limit a grant on a model to what an inference profile asks of it.

    https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-prereq.html
    """
    return {"StringEquals": {"bedrock:InferenceProfileArn": profile_arn}}


def _grant_index_setup(parts: Parts) -> None:
    index, ledger = parts.stores.index, parts.stores.ledger.table.table_arn
    items = control_items(*parts.embeds)
    allow(index.setup.role, READ_AND_CHANGE_ITEM, [ledger], only=items)
    for target in parts.settings.targets.values():
        known = index.paths(f"{target.index}/_mapping", f"{target.index}/_settings")
        allow(index.setup.role, READ_INDEX, known)
        read, name = read_alias(target.index), first_index(target.index)
        aliases = index.paths(f"{read}/_alias", f"{target.index}/_alias")
        allow(index.setup.role, READ_INDEX, aliases)
        # A new index stands behind its aliases, under the name of the first one and a number.
        made = index.paths(name, f"{name}/_alias/{read}")
        allow(index.setup.role, CHANGE_INDEX, [*known, *made])
    if any(target.replaces for target in parts.settings.targets.values()):
        # One request for both indexes, whose path names neither: only as long as it is needed.
        allow(index.setup.role, MOVE_ALIASES, index.paths("_aliases"))


def _grant_sweep(parts: Parts) -> None:
    role, stores = parts.sweep.role, parts.stores
    ledger, queues = stores.ledger.table.table_arn, _queues(parts)
    allow(role, LIST_ROWS, [stores.ledger.index_arn])
    allow(role, MAKE_AND_CHANGE_ROWS, [ledger])
    allow(role, REMOVE_ROWS, [ledger])
    allow(role, READ_ITEM, [ledger])
    allow(role, CHANGE_ITEM, [ledger], only=control_items(*parts.embeds))
    allow(role, SEND_TASKS, queues)
    allow(role, COUNT_TASKS, queues)
    allow(role, READ_AND_WRITE_ENTRIES, _entries(parts, *parts.embeds))
    targets = parts.settings.targets.values()
    allow(role, READ_INDEX, stores.index.paths(*(f"{one.index}/_settings" for one in targets)))
    allow(role, LIST_BUCKET, [stores.failed.bucket.bucket_arn])
    allow(role, TAKE_OBJECTS, [stores.failed.objects_arn])
    allow(role, PUT_EVENTS, _buses(parts), only=OWN_EVENTS)


def _grant_backfill(parts: Parts) -> None:
    role, stores = parts.backfill.role, parts.stores
    ledger, queues = stores.ledger.table.table_arn, _queues(parts)
    tables = stores.tables.values()
    allow(role, READ_TABLE, [table.arn for table in tables])
    allow(role, DECRYPT, _keys(*tables), only=via(role, "dynamodb"))
    allow(role, LIST_ROWS, [stores.ledger.index_arn])
    allow(role, MAKE_AND_CHANGE_ROWS, [ledger])
    allow(role, SEND_TASKS, [*queues, stores.errands.queue.queue_arn])
    allow(role, COUNT_TASKS, queues)
    allow(role, RECEIVE_TASKS, [stores.errands.queue.queue_arn])
    aliases = [target.index for target in parts.settings.targets.values()]
    paths = [f"{alias}/{read}" for alias in aliases for read in ("_mget", "_search")]
    allow(role, ASK_INDEX, stores.index.paths(*paths))


def _grant_breaker(parts: Parts) -> None:
    role = parts.breaker.role
    mappings = [mapping for found in parts.mappings.values() for mapping in found.values()]
    ledger = parts.stores.ledger.table.table_arn
    allow(role, READ_AND_CHANGE_ITEM, [ledger], only=control_items(*parts.embeds))
    allow(role, SWITCH_MAPPINGS, [mapping.event_source_mapping_arn for mapping in mappings])
    allow(role, CALL_FUNCTION, [embed.function.function_arn for embed in parts.embeds.values()])


def _grant_query(parts: Parts) -> None:
    # The same four as in functions/query: one without the other lets nothing through.
    reads = ("_count", "_mget", "_refresh", "_search")
    aliases = [target.index for target in parts.settings.targets.values()]
    paths = [f"{alias}/{read}" for alias in aliases for read in reads]
    allow(parts.query.role, ASK_INDEX, parts.stores.index.paths(*paths))


def _grant_search(parts: Parts) -> None:
    role, stores, index = parts.search.role, parts.stores, parts.stores.index
    aliases = [target.index for target in parts.settings.targets.values()]
    allow(role, READ_INDEX, index.paths(*(f"{read_alias(one)}/_mapping" for one in aliases)))
    # By its name: see functions/search.
    allow(role, ASK_INDEX, index.paths(*(f"{first_index(one)}/_search" for one in aliases)))
    for target in parts.embeds:
        allow_provider(role, target, parts)
    ledger = stores.ledger.table.table_arn
    allow(role, READ_ITEM, [ledger], only=control_items(*parts.embeds))


def _queues(parts: Parts) -> list[str]:
    return [arn for lanes in parts.stores.lanes.values() for arn in lanes.arns()]


def _entries(parts: Parts, *targets: str) -> list[str]:
    """Name the paths to write entries, and to read them first."""
    aliases = [parts.settings.targets[target].index for target in targets]
    calls = [f"{alias}/{call}" for alias in aliases for call in ("_bulk", "_mget")]
    return parts.stores.index.paths(*calls)


def _buses(parts: Parts) -> list[str]:
    name = bus_name(parts.config)
    stack = Stack.of(parts.enqueue)
    arn = stack.format_arn(service="events", resource="event-bus", resource_name=name)
    return [arn] if name else []


def _keys(*encrypted: SourceTable | ApiKey) -> list[str]:
    return [part.encryption_key_arn for part in encrypted if part.encryption_key_arn]


def allow(
    role: iam.Role,
    actions: Sequence[str],
    resources: Iterable[str],
    *,
    only: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Let a role do the actions to the resources. A wildcard needs a reason in findings.toml."""
    if named := list(resources):
        role.add_to_policy(
            iam.PolicyStatement(actions=list(actions), resources=named, conditions=only)
        )


def control_items(*targets: str) -> dict[str, dict[str, Any]]:
    """Limit a grant on the ledger to the control items of some targets.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
    """
    keys = [f"{CONTROL_PREFIX}/{target}" for target in targets]
    return {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": keys}}


def tenant_items(target: str) -> dict[str, dict[str, Any]]:
    """Limit a grant on the ledger to what the tenants of a target have spent."""
    return {
        "ForAllValues:StringLike": {
            "dynamodb:LeadingKeys": [f"{CONTROL_PREFIX}/{tenant_item(target, '*')}"]
        }
    }


def rows_of(target: str) -> dict[str, dict[str, Any]]:
    """Limit a grant on the ledger to the rows of one target."""
    return {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"{target}/*"]}}
