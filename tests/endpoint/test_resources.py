"""The real template's resources, made on the real engines, and found again."""

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.index_setup.ensure import MisfitError
from local.endpoint import AwsEndpoint
from local.resources import ResourceError, create_indexes, create_resources
from local.specs import StackSpec
from local.template import LocalAddresses, Site, local_template, read_stack
from tests.endpoint.local_stage import template_cache

Client = Callable[[str], Any]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, opensearch_url: str) -> dict[str, Any]:
    """Return the local stage's template with names that are this session's own."""
    cache = template_cache(tmp_path_factory)
    addresses = LocalAddresses(opensearch_url, "http://127.0.0.1:1")
    text = json.dumps(addresses.put_into(local_template(cache=cache)))
    renamed: dict[str, Any] = json.loads(text.replace("embedq-local", f"s{uuid.uuid4().hex[:6]}"))
    return renamed


@pytest.fixture(scope="session")
def site(endpoint: AwsEndpoint) -> Site:
    """Return the place of a stack of this session."""
    return Site(f"embedq-{uuid.uuid4().hex[:6]}", endpoint.url)


@pytest.fixture(scope="session")
def stack(template: dict[str, Any], site: Site) -> StackSpec:
    """Make the stack's resources, once."""
    found = read_stack(template, site)
    return create_resources(found, site, secrets=_keys(found))


def _keys(stack: StackSpec) -> dict[str, str]:
    return dict.fromkeys(stack.secrets, "provider key")


def test_a_stack_has_its_tables_and_streams(client: Client, stack: StackSpec) -> None:
    """R82: with index, time to live and stream of the template."""
    dynamodb = client("dynamodb")
    ledger, source = (dynamodb.describe_table(TableName=t.name)["Table"] for t in stack.tables)

    assert [index["IndexName"] for index in ledger["GlobalSecondaryIndexes"]] == ["open"]
    ttl = dynamodb.describe_time_to_live(TableName=stack.tables[0].name)
    assert ttl["TimeToLiveDescription"]["AttributeName"] == "expires_at"
    assert stack.outputs["SourceArticlesStreamArn"] == source["LatestStreamArn"]


def test_a_stack_has_its_queues(client: Client, stack: StackSpec) -> None:
    """R82: lanes know their DLQs."""
    sqs = client("sqs")
    dead = sqs.list_dead_letter_source_queues(
        QueueUrl=stack.outputs["TargetDefaultDeadLettersFifoUrl"]
    )["queueUrls"]

    assert sorted(dead) == sorted(
        stack.outputs[f"TargetDefaultLane{lane}Url"] for lane in ("High", "Normal")
    )


def test_a_stack_has_its_secrets_and_buckets(client: Client, stack: StackSpec) -> None:
    """R82: embed finds its key under the ARN in its environment."""
    embed = next(function for function in stack.functions if function.folder == "embed")
    found = client("secretsmanager").get_secret_value(SecretId=embed.environment["API_KEY_SECRET"])

    assert found["SecretString"] == "provider key"
    buckets = {bucket["Name"] for bucket in client("s3").list_buckets()["Buckets"]}
    assert set(stack.buckets) <= buckets


def test_what_is_there_stays(client: Client, stack: StackSpec, site: Site) -> None:
    """R82: a second start finds its tables with their documents, and changes nothing."""
    key = {"id": {"S": "kept"}}
    client("dynamodb").put_item(TableName=stack.tables[1].name, Item=key)

    again = create_resources(stack, site, secrets=dict.fromkeys(stack.secrets, "new key"))

    assert again == stack
    found = client("dynamodb").get_item(TableName=stack.tables[1].name, Key=key)
    assert found["Item"] == key
    secret = client("secretsmanager").get_secret_value(SecretId=stack.secrets[0])
    assert secret["SecretString"] == "new key"


def test_a_queue_takes_the_templates_new_attributes(
    client: Client, stack: StackSpec, site: Site
) -> None:
    """R82: a changed visibility timeout arrives."""
    queues = [
        replace(queue, attributes={**queue.attributes, "VisibilityTimeout": "77"})
        for queue in stack.queues
    ]

    create_resources(replace(stack, queues=queues), site, secrets=_keys(stack))

    url = stack.outputs["TargetDefaultLaneHighUrl"]
    found = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])
    assert found["Attributes"]["VisibilityTimeout"] == "77"


def test_a_table_of_another_shape_is_not_touched(stack: StackSpec, site: Site) -> None:
    """R82: a changed key is an error that says what to do."""
    source = stack.tables[1]
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    changed = replace(source, create={**source.create, "StreamSpecification": stream})

    with pytest.raises(ResourceError, match=f"table {source.name} is there with other keys"):
        create_resources(replace(stack, tables=[changed]), site, secrets=_keys(stack))


def test_a_secret_without_a_value_is_named(stack: StackSpec, site: Site) -> None:
    """R82: a missing key is not found out by the first document."""
    with pytest.raises(ResourceError, match=f"secret {stack.secrets[0]} has no value"):
        create_resources(stack, site, secrets={})


def test_the_index_is_made_and_then_found(stack: StackSpec, opensearch_url: str) -> None:
    """R82: the custom resource's own code runs, twice without harm."""
    alias = stack.custom_resources[0]["Index"]

    assert create_indexes(stack, opensearch_url) == {alias: "created"}
    assert create_indexes(stack, opensearch_url) == {alias: "checked"}


def _with_targets(stack: StackSpec, indexes: dict[str, str]) -> StackSpec:
    """Let a stack have these indexes, each with the one that it replaces, or nothing."""
    [setup] = [one for one in stack.functions if one.folder == "index_setup"]
    environment = {**setup.environment, "INDEXES": json.dumps(indexes)}
    index = {**stack.custom_resources[0]}
    return replace(
        stack,
        functions=[replace(setup, environment=environment)],
        custom_resources=[{**index, "Index": name, "Target": name} for name in indexes],
    )


def test_indexes_of_a_migration_are_judged_as_deployed(
    stack: StackSpec, opensearch_url: str
) -> None:
    """R82 R44: a switch outlives a restart; the targets do not part while it holds."""
    admin = OpenSearchAdmin(OpenSearchHttp(opensearch_url, credentials=None, region=""))
    old, new = (f"{stack.custom_resources[0]['Index']}-{name}" for name in ("old", "new"))
    both = _with_targets(stack, {old: "", new: old})
    create_indexes(both, opensearch_url)
    admin.move_alias(f"{old}-read", before={f"{old}-1"}, after=f"{new}-1")

    assert create_indexes(both, opensearch_url) == {old: "checked", new: "checked"}
    assert admin.indexes_behind(f"{old}-read") == {f"{new}-1"}
    with pytest.raises(MisfitError, match="would not replace this one any more"):
        create_indexes(_with_targets(stack, {old: "", new: ""}), opensearch_url)
    create_indexes(_with_targets(stack, {new: ""}), opensearch_url)
    create_indexes(_with_targets(stack, {old: new, new: ""}), opensearch_url)
    assert admin.indexes_behind(f"{old}-read") == {f"{old}-1"}


def test_the_aws_command_line_reads_stack_and_secret(
    endpoint: AwsEndpoint, aws: Callable[..., str], stack: StackSpec
) -> None:
    """R82: outputs and secrets as in AWS."""
    endpoint.serve_stack(stack)

    shown = aws(
        "cloudformation",
        "describe-stacks",
        *("--stack-name", stack.name, "--query"),
        "Stacks[0].Outputs[?OutputKey=='LedgerTable'].OutputValue",
    )
    secret = aws(
        "secretsmanager",
        "get-secret-value",
        *("--secret-id", stack.secrets[0], "--query", "SecretString"),
    )

    assert shown == stack.tables[0].name
    assert secret in ("provider key", "new key")
