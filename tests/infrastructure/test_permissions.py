"""Least privilege: every statement names what it allows, and to what."""

from typing import Any

import pytest

from functions.query.question import READS
from infrastructure.network import JOIN_NETWORK
from tests.infrastructure.synthesized import Synthesized, as_list

# The only resources that a function's policy does not name whole, each with its reason.
WILDCARDS = (
    "/aws/lambda/*",  # Lambda names the objects of failed records itself.
    "/stash/*",  # One object per row, named by the row's hash.
)
WRITES = {
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:PartiQLUpdate",
}
# X-Ray's two actions take no resource; the network interfaces of Lambda have no name before.
XRAY = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}


def statements(synthesized: Synthesized, role: str = "") -> list[dict[str, Any]]:
    """Return the statements of the functions' policies, of one role or of all."""
    return [
        {**statement, "Action": as_list(statement["Action"]), "Resource": as_list(resource)}
        for policy in synthesized.properties("AWS::IAM::Policy")
        if role in policy["PolicyName"]
        for statement in policy["PolicyDocument"]["Statement"]
        for resource in [statement["Resource"]]
    ]


def test_no_action_has_a_wildcard_and_no_managed_policy_is_attached(
    synthesized: Synthesized,
) -> None:
    """R84: actions are written out."""
    roles = synthesized.properties("AWS::IAM::Role")

    assert all("ManagedPolicyArns" not in role for role in roles)
    assert [
        action
        for statement in statements(synthesized)
        for action in statement["Action"]
        if "*" in action
    ] == []


def test_every_resource_wildcard_has_a_written_reason(synthesized: Synthesized) -> None:
    """R84: what is not named whole is one of a short list."""
    for statement in statements(synthesized):
        for resource in statement["Resource"]:
            if resource == "*":
                assert set(statement["Action"]) in (XRAY, set(JOIN_NETWORK))
            else:
                assert "*" not in resource or resource.endswith(WILDCARDS)


@pytest.mark.parametrize(
    ("role", "actions"),
    [
        (
            "EnqueueRole",
            {
                "dynamodb:BatchGetItem",
                "dynamodb:DescribeStream",
                "dynamodb:GetItem",
                "dynamodb:GetRecords",
                "dynamodb:GetShardIterator",
                "dynamodb:ListStreams",
                "dynamodb:PartiQLUpdate",
                "dynamodb:PutItem",
                "s3:ListBucket",
                "s3:PutObject",
                "sqs:SendMessage",
            },
        ),
        (
            "TargetDefaultEmbedRole",
            {
                "dynamodb:BatchGetItem",
                "dynamodb:GetItem",
                "dynamodb:PartiQLUpdate",
                "dynamodb:UpdateItem",
                "es:ESHttpPost",
                "events:PutEvents",
                "s3:GetObject",
                "s3:ListBucket",
                "s3:PutObject",
                "secretsmanager:GetSecretValue",
                "sqs:ChangeMessageVisibility",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:ReceiveMessage",
                "sqs:SendMessage",
            },
        ),
        (
            "IndexSetupRole",
            {"dynamodb:GetItem", "dynamodb:UpdateItem", "es:ESHttpGet", "es:ESHttpPut"},
        ),
        ("QueryRole", {"es:ESHttpPost"}),
        (
            "SearchRole",
            {
                "dynamodb:GetItem",
                "es:ESHttpGet",
                "es:ESHttpPost",
                "secretsmanager:GetSecretValue",
            },
        ),
        (
            "SweepRole",
            {
                "dynamodb:BatchGetItem",
                "dynamodb:DeleteItem",
                "dynamodb:GetItem",
                "dynamodb:PartiQLUpdate",
                "dynamodb:PutItem",
                "dynamodb:Query",
                "dynamodb:UpdateItem",
                "es:ESHttpGet",
                "es:ESHttpPost",
                "events:PutEvents",
                "s3:DeleteObject",
                "s3:GetObject",
                "s3:ListBucket",
                "sqs:GetQueueAttributes",
                "sqs:SendMessage",
            },
        ),
        (
            "BackfillRole",
            {
                "dynamodb:BatchGetItem",
                "dynamodb:DescribeTable",
                "dynamodb:PartiQLUpdate",
                "dynamodb:PutItem",
                "dynamodb:Query",
                "dynamodb:Scan",
                "es:ESHttpPost",
                "sqs:ChangeMessageVisibility",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:ReceiveMessage",
                "sqs:SendMessage",
            },
        ),
        (
            "BreakerRole",
            {
                "dynamodb:GetItem",
                "dynamodb:UpdateItem",
                "lambda:GetEventSourceMapping",
                "lambda:InvokeFunction",
                "lambda:UpdateEventSourceMapping",
            },
        ),
    ],
)
def test_function_may_do_what_it_does_and_no_more(
    synthesize: Any, role: str, actions: set[str]
) -> None:
    """R84: the whole list of each role."""
    granted = {a for s in statements(synthesize("dev"), role) for a in s["Action"]}

    assert granted == actions | {"logs:CreateLogStream", "logs:PutLogEvents", *XRAY}


def test_source_tables_are_never_written(synthesized: Synthesized) -> None:
    """R84: the only table a function writes is the ledger."""
    written = {
        resource
        for statement in statements(synthesized)
        if WRITES & set(statement["Action"])
        for resource in statement["Resource"]
    }

    assert len(written) == 1
    assert written.pop().startswith("LedgerTable")


def test_embed_sends_to_each_lane_that_it_receives_from(synthesized: Synthesized) -> None:
    """R22 R84: what was worked alone goes to its own lane anew, and nothing to the dead letters."""
    queues = synthesized.resources("AWS::SQS::Queue")
    for name in synthesized.functions("embed"):
        role = name.split("EmbedFunction")[0]
        sent, received = (
            [
                queues[resource.removesuffix(".Arn")]["Properties"]["QueueName"]
                for statement in statements(synthesized, f"{role}EmbedRole")
                if right in statement["Action"]
                for resource in statement["Resource"]
            ]
            for right in ("sqs:SendMessage", "sqs:ReceiveMessage")
        )
        assert sorted(sent) == sorted(received)
        assert any("bulk" in queue for queue in sent)
        assert not any("dead-letters" in queue for queue in sent)


def test_control_items_are_changed_by_their_own_functions_alone(synthesize: Any) -> None:
    """R25, R14: embed changes its target's, the others every target's; none a row."""
    keys = {
        role: [
            statement["Condition"]["ForAllValues:StringEquals"]["dynamodb:LeadingKeys"]
            for statement in statements(synthesize("example"), role)
            if "dynamodb:UpdateItem" in statement["Action"]
        ]
        for role in (
            "EnqueueRole",
            "TargetLargeEmbedRole",
            "IndexSetupRole",
            "SweepRole",
            "BreakerRole",
        )
    }

    every = [["control/default", "control/large"]]
    assert keys == {
        "EnqueueRole": [],
        "TargetLargeEmbedRole": [["control/large"]],
        "IndexSetupRole": every,
        "SweepRole": every,
        "BreakerRole": every,
    }


def test_what_tenants_spent_is_changed_only_where_they_have_a_limit(synthesize: Any) -> None:
    """R19 R84: by their target's own embed, and no other item."""
    limited = ["control/tenant/default/*"]
    found = {
        stage: [
            statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
            for statement in statements(synthesize(stage), "TargetDefaultEmbedRole")
            if "dynamodb:UpdateItem" in statement["Action"]
            and "ForAllValues:StringLike" in statement["Condition"]
        ]
        for stage in ("example", "dev")
    }

    assert found == {"example": [limited], "dev": []}


def test_enqueue_reads_control_items_and_no_other_single_item(synthesize: Any) -> None:
    """R84: rows are read in batches."""
    [single] = [
        statement
        for statement in statements(synthesize("example"), "EnqueueRole")
        if "dynamodb:GetItem" in statement["Action"]
    ]

    assert single["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["control/default", "control/large"]}
    }


def test_rows_of_a_target_are_changed_by_its_own_embed_alone(synthesize: Any) -> None:
    """R14: no target's function reads or writes another target's rows."""
    for target in ("default", "large"):
        role = f"Target{target.capitalize()}EmbedRole"
        (swaps,) = [
            statement
            for statement in statements(synthesize("example"), role)
            if "dynamodb:PartiQLUpdate" in statement["Action"]
        ]

        assert swaps["Condition"] == {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"{target}/*"]}
        }


def test_roles_are_known_before_only_where_a_domain_exists(synthesize: Any) -> None:
    """R02: a domain with access control of its own maps roles by their names."""
    names = [role.get("RoleName") for role in synthesize("example").properties("AWS::IAM::Role")]

    assert sorted(names) == [
        f"embedq-example-{function}-AWS::Region"
        for function in (
            "backfill",
            "breaker",
            "embed-default",
            "embed-large",
            "enqueue",
            "index-setup",
            "query",
            "search",
            "sweep",
        )
    ]
    assert not any("RoleName" in role for role in synthesize("dev").properties("AWS::IAM::Role"))


def test_only_the_domain_of_this_stage_writes_its_logs(synthesize: Any) -> None:
    """R84: no other account can use the service to write here."""
    (policy,) = synthesize("dev").properties("AWS::Logs::ResourcePolicy")

    assert '"aws:SourceAccount":"AWS::AccountId"' in policy["PolicyDocument"]
    assert '"aws:SourceArn":"arn:AWS::Partition:es:' in policy["PolicyDocument"]
    assert ":domain/embedq-dev" in policy["PolicyDocument"]


def test_breaker_switches_and_calls_only_what_it_guards(synthesize: Any) -> None:
    """R25, R84: mappings by their ids; never the streams' mappings."""
    stage = synthesize("dev")
    (function,) = stage.functions("embed")
    lanes = {
        name
        for name, mapping in stage.resources("AWS::Lambda::EventSourceMapping").items()
        if "ScalingConfig" in mapping["Properties"] and not name.startswith("Backfill")
    }
    reached = {
        resource.rpartition(":")[2]
        for statement in statements(stage, "BreakerRole")
        for resource in statement["Resource"]
        if any(action.startswith("lambda:") for action in statement["Action"])
    }

    assert reached == lanes | {f"{function}.Arn"}


def test_functions_send_only_events_of_embedq(synthesized: Synthesized) -> None:
    """R27, R84: events of embedq on the account's own bus, and no others."""
    events = [s for s in statements(synthesized) if s["Action"] == ["events:PutEvents"]]

    assert len(events) == len(synthesized.functions("embed")) + 1
    for statement in events:
        assert statement["Condition"] == {"ForAllValues:StringEquals": {"events:source": "embedq"}}
        (bus,) = statement["Resource"]
        assert bus.endswith(":event-bus/default")


def test_functions_reach_only_paths_of_their_own_index(synthesize: Any) -> None:
    """R84, R14: no target's function can write another target's index."""
    domain = "arn:aws:es:eu-west-1:123456789012:domain/example"
    reached = {
        (role, action, resource.removeprefix(domain))
        for role in (
            "TargetDefaultEmbedRole",
            "TargetLargeEmbedRole",
            "IndexSetupRole",
            "SweepRole",
            "QueryRole",
            "BackfillRole",
            "SearchRole",
        )
        for statement in statements(synthesize("example"), role)
        for action in statement["Action"]
        for resource in statement["Resource"]
        if action.startswith("es:")
    }
    embeds = {
        (f"Target{name.capitalize()}EmbedRole", "es:ESHttpPost", f"/embedq-example-{name}/{call}")
        for name in ("default", "large")
        for call in ("_bulk", "_mget")
    }
    setup = {
        ("IndexSetupRole", f"es:ESHttp{method}", f"/embedq-example-{name}{path}")
        for name in ("default", "large")
        for method, path in (
            ("Get", "/_mapping"),
            ("Get", "/_settings"),
            ("Put", "/_mapping"),
            ("Put", "/_settings"),
            ("Put", "-1"),
            ("Get", "-read/_alias"),
            ("Get", "/_alias"),
            ("Put", f"-1/_alias/embedq-example-{name}-read"),
        )
    }

    sweep = {
        ("SweepRole", f"es:ESHttp{method}", f"/embedq-example-{name}/{call}")
        for name in ("default", "large")
        for method, call in (("Post", "_bulk"), ("Post", "_mget"), ("Get", "_settings"))
    }

    query = {
        ("QueryRole", "es:ESHttpPost", f"/embedq-example-{name}/{read}")
        for name in ("default", "large")
        for read in READS
    }

    backfill = {
        ("BackfillRole", "es:ESHttpPost", f"/embedq-example-{name}/{read}")
        for name in ("default", "large")
        for read in ("_mget", "_search")
    }

    search = {
        ("SearchRole", f"es:ESHttp{method}", f"/embedq-example-{name}{path}")
        for name in ("default", "large")
        for method, path in (("Get", "-read/_mapping"), ("Post", "-1/_search"))
    }

    assert reached == embeds | setup | sweep | query | backfill | search


def test_only_backfill_reads_whole_tables(synthesize: Any) -> None:
    """R43 R84: no other function may scan, and it may scan the sources alone."""
    stage = synthesize("dev")
    scanning = [s for s in statements(stage) if "dynamodb:Scan" in s["Action"]]
    (mine,) = [s for s in statements(stage, "BackfillRole") if "dynamodb:Scan" in s["Action"]]

    assert scanning == [mine]
    assert set(mine["Action"]) == {
        "dynamodb:BatchGetItem",
        "dynamodb:DescribeTable",
        "dynamodb:Scan",
    }
    (table,) = mine["Resource"]
    assert table.startswith("SourcesArticles")


def test_search_is_called_with_iam_alone_and_reads_keys_and_control_items(synthesize: Any) -> None:
    """R51 R84: no anonymous caller, no permission for anybody in the template, nothing written."""
    stage = synthesize("example")
    [url] = stage.properties("AWS::Lambda::Url")
    [search] = stage.functions("search")

    assert url["AuthType"] == "AWS_IAM"
    assert url["TargetFunctionArn"] == f"{search}.Arn"
    assert "Cors" not in url
    assert not [
        one
        for one in stage.properties("AWS::Lambda::Permission")
        if one["FunctionName"] == f"{search}.Arn" or "FunctionUrlAuthType" in one
    ]
    [control] = [
        one for one in statements(stage, "SearchRole") if "dynamodb:GetItem" in one["Action"]
    ]
    assert control["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["control/default", "control/large"]}
    }


def test_domain_is_encrypted_and_open_to_no_caller_by_itself(synthesize: Any) -> None:
    """R84: what a domain policy allowed, it would allow beside the functions' own policies."""
    (domain,) = synthesize("dev").properties("AWS::OpenSearchService::Domain")

    assert "AccessPolicies" not in domain
    assert domain["AdvancedOptions"] == {"rest.action.multi.allow_explicit_index": "false"}
    assert domain["EncryptionAtRestOptions"] == {"Enabled": True}
    assert domain["NodeToNodeEncryptionOptions"] == {"Enabled": True}
    assert domain["DomainEndpointOptions"]["EnforceHTTPS"] is True
