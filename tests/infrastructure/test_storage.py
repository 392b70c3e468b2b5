"""What holds data: encrypted, recoverable, and kept or removed as the stage says."""

from typing import Any

import pytest

from tests.infrastructure.synthesized import Synthesized


def ledger(synthesized: Synthesized) -> dict[str, Any]:
    """Return the ledger's table."""
    (found,) = [
        table
        for table in synthesized.properties("AWS::DynamoDB::Table")
        if table["KeySchema"][0]["AttributeName"] == "row_key"
    ]
    return found


def test_ledger_has_a_sparse_index_over_open_rows_and_forgets_by_itself(
    synthesized: Synthesized,
) -> None:
    """R46 R84: what the ledger adapter writes is what the table indexes and expires."""
    table = ledger(synthesized)

    assert table["KeySchema"] == [{"AttributeName": "row_key", "KeyType": "HASH"}]
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert table["GlobalSecondaryIndexes"] == [
        {
            "IndexName": "open",
            "KeySchema": [
                {"AttributeName": "open_shard", "KeyType": "HASH"},
                {"AttributeName": "due_ms", "KeyType": "RANGE"},
            ],
            "Projection": {"NonKeyAttributes": ["status", "lane"], "ProjectionType": "INCLUDE"},
        }
    ]


def test_tables_are_encrypted_recoverable_and_on_demand(synthesized: Synthesized) -> None:
    """R84: encryption at rest and 35 days of recovery for everything we make."""
    for table in synthesized.properties("AWS::DynamoDB::Table"):
        assert table["SSESpecification"] == {"SSEEnabled": True}
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert table["BillingMode"] == "PAY_PER_REQUEST"


def test_what_is_set_aside_is_encrypted_private_and_expires(synthesized: Synthesized) -> None:
    """R84: whole records for a month, paid vectors for two days."""
    buckets = synthesized.properties("AWS::S3::Bucket")

    for bucket in buckets:
        assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    kept = [b["LifecycleConfiguration"]["Rules"][0]["ExpirationInDays"] for b in buckets]
    assert sorted(kept) == [2, 30]


@pytest.mark.parametrize(("stage", "policy"), [("dev", "Delete"), ("prod", "RetainExceptOnCreate")])
def test_data_stays_or_goes_with_the_stack_as_the_stage_says(
    synthesize: Any, stage: str, policy: str
) -> None:
    """R55 R01: removal is configuration; what a failed first deployment made is not in the way."""
    holders = (
        "AWS::DynamoDB::Table",
        "AWS::S3::Bucket",
        "AWS::Logs::LogGroup",
        "AWS::OpenSearchService::Domain",
        "AWS::SecretsManager::Secret",
        "AWS::KMS::Key",
        "Custom::EmbedqIndex",
    )
    made = synthesize(stage)
    dead = [q for n, q in made.resources("AWS::SQS::Queue").items() if "DeadLetters" in n]
    tables = made.resources("AWS::DynamoDB::Table")
    kept = {kind: [*made.resources(kind).values()] for kind in holders} | {
        "dead letters": dead,
        "AWS::DynamoDB::Table": [t for n, t in tables.items() if not n.startswith("Sources")],
    }
    for kind, found in kept.items():
        assert {resource["DeletionPolicy"] for resource in found} == {policy}, kind
        if policy != "Delete":
            assert {resource["UpdateReplacePolicy"] for resource in found} == {"Retain"}, kind


def test_queue_of_a_lane_goes_with_its_target(synthesize: Any) -> None:
    """R55 R84: tasks are in the ledger; a kept queue would only take a name."""
    queues = synthesize("prod").resources("AWS::SQS::Queue")

    lanes = [queue for name, queue in queues.items() if "DeadLetters" not in name]
    assert {queue["DeletionPolicy"] for queue in lanes} == {"Delete"}


def test_domain_is_upgraded_in_place_and_never_dropped(synthesize: Any) -> None:
    """R55 R84: another version is no new domain; a new domain leaves the old one."""
    for stage in ("dev", "prod"):
        (domain,) = synthesize(stage).resources("AWS::OpenSearchService::Domain").values()

        assert domain["UpdatePolicy"] == {"EnableVersionUpgrade": True}
        assert domain["UpdateReplacePolicy"] == "Retain"


@pytest.mark.parametrize(
    ("kind", "owner"),
    [
        ("AWS::SQS::QueuePolicy", "AWS::SQS::Queue"),
        ("AWS::S3::BucketPolicy", "AWS::S3::Bucket"),
        ("AWS::SNS::TopicPolicy", "AWS::SNS::Topic"),
    ],
)
def test_nothing_is_reached_without_tls(synthesized: Synthesized, kind: str, owner: str) -> None:
    """R84: encryption in transit, on every queue, bucket and topic."""
    policies = synthesized.properties(kind)

    assert len(policies) == len(synthesized.resources(owner))
    for policy in policies:
        assert any(
            statement["Effect"] == "Deny"
            and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
            for statement in policy["PolicyDocument"]["Statement"]
        )


def test_secret_is_made_empty(synthesize: Any) -> None:
    """R84: no key in a template, and no invented one that looks like a key."""
    (secret,) = synthesize("dev").properties("AWS::SecretsManager::Secret")

    assert set(secret) == {"Description"}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_source_table_is_never_deleted_by_the_stack(synthesize: Any, stage: str) -> None:
    """R55 R02: another key makes another table, another name of the source too; the items stay."""
    tables = synthesize(stage).resources("AWS::DynamoDB::Table")
    (source,) = [table for name, table in tables.items() if name.startswith("Sources")]

    assert source["UpdateReplacePolicy"] == "Retain"
    assert source["DeletionPolicy"] == "RetainExceptOnCreate"
    assert "DeletionProtectionEnabled" not in source["Properties"]
