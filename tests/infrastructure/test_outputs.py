"""Outputs: what a command line finds."""

import json
from fnmatch import fnmatchcase
from typing import Any

from tests.infrastructure.synthesized import as_list, text


def test_outputs_name_every_part_that_a_command_needs(synthesize: Any) -> None:
    """R01: stable names, one output per thing."""
    lanes = [
        f"TargetDefaultLane{lane}{end}"
        for lane in ("High", "Normal", "Bulk", "Delete")
        for end in ("Url", "MappingId")
    ]

    assert set(synthesize("dev").template["Outputs"]) == {
        *lanes,
        "BackfillFunction",
        "BreakerFunction",
        "CriticalTopicArn",
        "EnqueueFunction",
        "ErrandsQueueUrl",
        "EventBus",
        "FailedChangesBucket",
        "IndexEndpoint",
        "IndexSetupFunction",
        "LedgerTable",
        "QueryFunction",
        "Retention",
        "SearchFunction",
        "SearchUrl",
        "SourceArticlesMappingId",
        "SourceArticlesSettings",
        "SourceArticlesStreamArn",
        "SourceArticlesTable",
        "Stage",
        "StashBucket",
        "SweepFunction",
        "TargetDefaultApiKeySecretArn",
        "TargetDefaultDeadLettersFifoUrl",
        "TargetDefaultDeadLettersStandardUrl",
        "TargetDefaultEmbedFunction",
        "TargetDefaultFillApiKey",
        "TargetDefaultSettings",
        "WarningTopicArn",
    }


def test_only_a_secret_made_here_is_to_be_filled(synthesize: Any) -> None:
    """R84: the output shows how, without a key in a shell's history."""
    outputs = synthesize("example").template["Outputs"]

    assert "file://" in str(outputs["TargetDefaultFillApiKey"]["Value"])
    assert "TargetLargeFillApiKey" not in outputs


def test_sequential_lane_is_among_the_outputs(synthesize: Any) -> None:
    """R33: a lane like the others."""
    outputs = synthesize("example").template["Outputs"]

    assert "TargetDefaultLaneSequentialMessagesUrl" in outputs


def test_mapping_of_the_roles_is_printed_for_an_existing_domain(synthesize: Any) -> None:
    """R02: two requests that a person enters into a domain with access control of its own."""
    outputs = synthesize("example").template["Outputs"]
    role, mapping = (text(outputs[name]["Value"]) for name in ("IndexRole", "IndexRoleMapping"))
    request, _, body = role.partition(" {")
    (rights,) = json.loads("{" + body)["index_permissions"]

    assert request == "PUT _plugins/_security/api/roles/embedq-example"
    assert rights["index_patterns"] == [
        "embedq-example-default",
        "embedq-example-default-1",
        "embedq-example-default-read",
        "embedq-example-large",
        "embedq-example-large-1",
        "embedq-example-large-read",
    ]
    assert mapping.startswith("PUT _plugins/_security/api/rolesmapping/embedq-example {")
    arns = json.loads(mapping.partition(" ")[2].partition(" ")[2])["backend_roles"]
    assert [arn.partition("Role")[0] for arn in arns] == [
        "TargetDefaultEmbed",
        "TargetLargeEmbed",
        "Sweep",
        "Backfill",
        "IndexIndexSetup",
        "Query",
        "Search",
    ]
    assert "IndexRole" not in synthesize("dev").template["Outputs"]


# What OpenSearch checks for each request that the functions send:
# https://docs.opensearch.org/latest/security/access-control/permissions/
ACTIONS = {
    "PUT index": ("indices:admin/create", "indices:admin/aliases"),
    "GET _alias": ("indices:admin/aliases/get",),
    "GET _mapping": ("indices:admin/mappings/get",),
    "PUT _mapping": ("indices:admin/mapping/put",),
    "GET _settings": ("indices:monitor/settings/get",),
    "PUT _settings": ("indices:admin/settings/update",),
    "POST _bulk": ("indices:data/write/bulk[s]", "indices:data/write/index"),
    "POST _count": ("indices:data/read/search",),
    "POST _mget": ("indices:data/read/mget[shard]",),
    "POST _refresh": ("indices:admin/refresh", "indices:admin/refresh[s]"),
    "POST _search": ("indices:data/read/search",),
}
# https://docs.opensearch.org/latest/security/access-control/default-action-groups/
GROUPS = {
    "read": ("indices:data/read*",),
    "write": ("indices:data/write*", "indices:admin/mapping/put"),
    "create_index": ("indices:admin/create", "indices:admin/mapping/put"),
}


def test_mapped_role_may_send_every_request_of_the_functions(synthesize: Any) -> None:
    """R02: what the functions' policies let through is not refused by the domain itself."""
    example = synthesize("example")
    body = text(example.template["Outputs"]["IndexRole"]["Value"]).partition(" {")[2]
    given = json.loads("{" + body)["index_permissions"][0]["allowed_actions"]
    patterns = [one for name in given for one in GROUPS.get(name, (name,))]
    sent = {
        (action.removeprefix("es:ESHttp").upper(), resource.rpartition("/")[2])
        for policy in example.properties("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        for action in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
        if action.startswith("es:")
    }

    assert len(sent) > len(ACTIONS) - 1
    for method, path in sent:
        for needed in ACTIONS[f"{method} {path if path.startswith('_') else 'index'}"]:
            assert any(fnmatchcase(needed, one) for one in patterns), (method, path, needed)
