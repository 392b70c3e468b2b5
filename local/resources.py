"""What the template says -> tables, queues, buckets, secrets and indexes, made where missing.

Tables and indexes outlive a restart; queues, buckets and secrets are made again by each one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.core.settings import IndexSetupSettings
from functions.index_setup.ensure import ensure_index
from functions.index_setup.handler import Request as IndexRequest
from functions.index_setup.migration import guard_searches
from local.aws_client import local_client
from local.specs import QueueSpec, StackSpec, TableSpec
from local.template.references import Site, unknown_stream_arn

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import TableDescriptionTypeDef
    from mypy_boto3_sqs import SQSClient


# Of a queue that is there; ElasticMQ takes no others then, and CreateQueue takes them all.
_SETTABLE = (
    "DelaySeconds",
    "ReceiveMessageWaitTimeSeconds",
    "RedrivePolicy",
    "VisibilityTimeout",
)


class ResourceError(Exception):
    """What is there already does not fit the template."""


def create_resources(stack: StackSpec, site: Site, *, secrets: Mapping[str, str]) -> StackSpec:
    """Make all that is missing; return the stack with the ARNs of its streams.

    `secrets` holds the value of each secret, by name.
    """
    streams = _create_tables(stack, site)
    _create_queues(local_client("sqs", site.endpoint_url), stack.queues)
    s3 = local_client("s3", site.endpoint_url)
    for bucket in stack.buckets:
        s3.create_bucket(Bucket=bucket)
    _create_secrets(stack, site, secrets)
    return _with_streams(stack, streams)


def create_indexes(stack: StackSpec, index_url: str) -> dict[str, str]:
    """Do what the custom resources ask for; return what was done for each index."""
    admin = OpenSearchAdmin(OpenSearchHttp(index_url, credentials=None, region=""))
    [setup] = [one for one in stack.functions if one.folder == "index_setup"]
    replaced = IndexSetupSettings.from_environment(setup.environment).indexes
    specs = [IndexRequest.model_validate(found).spec for found in stack.custom_resources]
    done = {spec.alias: ensure_index(spec, admin) for spec in specs}
    for spec in specs:
        # Nothing tells which targets were there before: a removed one is not missed here, and one
        # that replaces another is taken for new.
        guard_searches(spec, admin, replaced, None if replaced.get(spec.alias) else spec.read_alias)
    return done


def _create_tables(stack: StackSpec, site: Site) -> dict[str, str]:
    dynamodb: DynamoDBClient = local_client("dynamodb", site.endpoint_url)
    streams = {}
    for table in stack.tables:
        found = _table(dynamodb, table)
        if table.ttl_attribute is not None:
            _expire(dynamodb, table.name, table.ttl_attribute)
        if "LatestStreamArn" in found:
            streams[table.name] = found["LatestStreamArn"]
    return streams


def _table(dynamodb: "DynamoDBClient", table: TableSpec) -> "TableDescriptionTypeDef":
    try:
        return dynamodb.create_table(**table.create)["TableDescription"]
    except dynamodb.exceptions.ResourceInUseException:
        found = dynamodb.describe_table(TableName=table.name)["Table"]
    if _shape(found) != _shape(table.create):
        raise ResourceError(
            f"table {table.name} is there with other keys, indexes or stream than the template"
            " has: bring the stage back to what it was"
        )
    return found


def _shape(table: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "attributes": sorted(map(_pair, table["AttributeDefinitions"])),
        "keys": [_pair(key) for key in table["KeySchema"]],
        "indexes": {
            index["IndexName"]: [_pair(key) for key in index["KeySchema"]]
            for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for index in table.get(kind) or ()
        },
        "stream": (table.get("StreamSpecification") or {}).get("StreamViewType"),
    }


def _pair(attribute: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(attribute[key] for key in sorted(attribute))


def _expire(dynamodb: "DynamoDBClient", table: str, attribute: str) -> None:
    found = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    if found.get("AttributeName") != attribute:
        dynamodb.update_time_to_live(
            TableName=table,
            TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute},
        )


def _create_queues(sqs: "SQSClient", queues: Sequence[QueueSpec]) -> None:
    # A queue can name its DLQ only once that is there.
    for queue in sorted(queues, key=lambda queue: "RedrivePolicy" in queue.attributes):
        _create_queue(sqs, queue)


def _create_queue(sqs: "SQSClient", queue: QueueSpec) -> None:
    attributes: Any = dict(queue.attributes)
    try:
        sqs.create_queue(QueueName=queue.name, Attributes=attributes)
    except sqs.exceptions.QueueNameExists:
        changed: Any = {name: value for name, value in attributes.items() if name in _SETTABLE}
        url = sqs.get_queue_url(QueueName=queue.name)["QueueUrl"]
        sqs.set_queue_attributes(QueueUrl=url, Attributes=changed)


def _create_secrets(stack: StackSpec, site: Site, values: Mapping[str, str]) -> None:
    client = local_client("secretsmanager", site.endpoint_url)
    for name in stack.secrets:
        if name not in values:
            raise ResourceError(f"secret {name} has no value: give one")
        try:
            client.create_secret(Name=name, SecretString=values[name])
        except client.exceptions.ResourceExistsException:
            client.put_secret_value(SecretId=name, SecretString=values[name])


def _with_streams(stack: StackSpec, streams: Mapping[str, str]) -> StackSpec:
    known = {unknown_stream_arn(table): arn for table, arn in streams.items()}
    outputs = {name: known.get(value, value) for name, value in stack.outputs.items()}
    return replace(stack, outputs=outputs)
