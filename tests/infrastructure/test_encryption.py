"""A KMS key of the user's own: on everything that holds data, and used through services only."""

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_kms as kms

from infrastructure.app import pipeline_app
from infrastructure.config.mistakes import ConfigError
from infrastructure.encryption import SERVICES, USE_KEY
from infrastructure.function_code import PLACEHOLDER, assets
from infrastructure.pipeline import EmbeddingPipeline
from tests.infrastructure.stages import stage_with
from tests.infrastructure.synthesized import CONTEXT, Synthesized, text

ID = "0b0b2b6e-5a3c-4a3e-9b1f-000000000000"
ARN = f"arn:aws:kms:eu-west-1:123456789012:key/{ID}"
STAGE = stage_with((("opensearch",), {"domain": {}}), (("encryption_key_arn",), ARN))
# Where each type that holds data names its key. The topics have a key of their own.
PLACES = {
    "AWS::DynamoDB::Table": ("SSESpecification", "KMSMasterKeyId"),
    "AWS::SQS::Queue": ("KmsMasterKeyId",),
    "AWS::S3::Bucket": (
        "BucketEncryption", "ServerSideEncryptionConfiguration", 0,
        "ServerSideEncryptionByDefault", "KMSMasterKeyID",
    ),
    "AWS::SecretsManager::Secret": ("KmsKeyId",),
    "AWS::Logs::LogGroup": ("KmsKeyId",),
    "AWS::Lambda::Function": ("KmsKeyArn",),
    "AWS::OpenSearchService::Domain": ("EncryptionAtRestOptions", "KmsKeyId"),
}  # fmt: skip


def synthesized(folder: Path, stage: dict[str, Any]) -> Synthesized:
    """Synthesize one stage."""
    context = {**CONTEXT, "stages": {"mine": stage}}
    [stack] = pipeline_app(context, code=PLACEHOLDER, outdir=folder).synth().stacks
    return Synthesized("mine", folder, stack.template)


def keys(made: Synthesized, kind: str) -> set[str]:
    """Return the keys that the resources of a type name."""
    found = set()
    for properties in made.properties(kind):
        for part in PLACES[kind]:
            properties = properties[part]  # type: ignore[index]
        found.add(str(properties))
    return found


def test_everything_that_holds_data_is_under_the_key(tmp_path: Path) -> None:
    """R84: tables, queues, objects, secrets, logs, variables and the domain."""
    made = synthesized(tmp_path, STAGE)

    for kind in PLACES:
        assert keys(made, kind) == {ID if "OpenSearch" in kind else ARN}, kind


def test_each_function_uses_the_key_through_services_only(tmp_path: Path) -> None:
    """R84: no code of a function decrypts with it by itself, and no action has a wildcard."""
    made = synthesized(tmp_path, STAGE)
    statements = [
        statement
        for policy in made.properties("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if "kms:" in json.dumps(statement["Action"])
    ]

    assert len(statements) == len(made.resources("AWS::Lambda::Function"))
    for statement in statements:
        assert tuple(statement["Action"]) == USE_KEY
        assert statement["Resource"] == ARN
        assert statement["Condition"] == {
            "StringEquals": {
                "kms:ViaService": [f"{one}.AWS::Region.amazonaws.com" for one in SERVICES]
            }
        }


def test_key_of_an_own_app_is_taken_as_an_object_and_admits_the_logs(tmp_path: Path) -> None:
    """R01: CloudWatch Logs needs a line in the key's own policy."""
    app = App(outdir=str(tmp_path))
    stack = Stack(app, "Shop")
    settings = stage_with((("opensearch",), {"domain": {}}))
    EmbeddingPipeline(
        stack, "P", stage="shop", settings=settings, code=assets(PLACEHOLDER),
        encryption_key=kms.Key(stack, "Mine"),
    )  # fmt: skip
    made = Synthesized("shop", tmp_path, app.synth().stacks[0].template)

    [name] = [one for one in made.resources("AWS::KMS::Key") if one.startswith("Mine")]
    for kind in PLACES.keys() - {"AWS::OpenSearchService::Domain"}:
        assert keys(made, kind) == {f"{name}.Arn"}, kind
    policy = text(made.resources("AWS::KMS::Key")[name]["Properties"]["KeyPolicy"])
    [logs] = [one for one in policy["Statement"] if "Service" in one["Principal"]]
    assert logs["Principal"] == {"Service": "logs.AWS::Region.amazonaws.com"}
    [context] = logs["Condition"]["ArnLike"].values()
    assert context.endswith(":logs:AWS::Region:AWS::AccountId:log-group:*")


def test_key_is_given_once() -> None:
    """R01: as an object or as a setting."""
    stack = Stack(App(), "Shop")

    with pytest.raises(ConfigError, match="encryption_key: is given, and encryption_key_arn"):
        EmbeddingPipeline(
            stack, "P", stage="shop", settings=STAGE, code=assets(PLACEHOLDER),
            encryption_key=kms.Key(stack, "Mine"),
        )  # fmt: skip
