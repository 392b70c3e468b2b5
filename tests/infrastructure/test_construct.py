"""EmbeddingPipeline inside an app of another person, with what that app made itself."""

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns

from functions.core.settings import EnqueueSettings
from infrastructure.config.mistakes import ConfigError
from infrastructure.function_code import PLACEHOLDER, assets
from infrastructure.pipeline import EmbeddingPipeline
from tests.infrastructure.stages import ARTICLES, DEFAULT, stage_with
from tests.infrastructure.synthesized import Synthesized

KEY = dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING)


def table_of(stack: Stack, *, stream: bool = True, key: kms.IKey | None = None) -> dynamodb.Table:
    """Make a table as an app of another person does."""
    return dynamodb.Table(
        stack,
        "Products",
        partition_key=KEY,
        stream=dynamodb.StreamViewType.NEW_IMAGE if stream else None,
        encryption_key=key,
    )


def pipeline(stack: Stack, settings: dict[str, Any] | None = None, **given: Any) -> None:
    """Put a pipeline into a stack."""
    code = assets(PLACEHOLDER)
    settings = settings or stage_with()
    EmbeddingPipeline(stack, "Embeddings", stage="shop", settings=settings, code=code, **given)


def test_what_the_app_made_is_used_and_nothing_is_made_in_its_place(tmp_path: Path) -> None:
    """R54 R01 R02: table, secret, their keys and topics, passed as CDK objects."""
    app = App(outdir=str(tmp_path))
    stack = Stack(app, "Shop")
    own_key = kms.Key(stack, "OwnKey")
    secret = secretsmanager.Secret(stack, "ProviderKey", encryption_key=own_key)
    pipeline(
        stack,
        tables={"articles": table_of(stack, key=own_key)},
        api_keys={"default": secret},
        alarm_topics={name: sns.Topic(stack, name) for name in ("warning", "critical")},
    )
    template = app.synth().get_stack_by_name("Shop").template
    shop = Synthesized("shop", tmp_path, template)

    [table] = [name for name in shop.resources("AWS::DynamoDB::Table") if "Products" in name]
    [enqueue] = shop.functions("enqueue").values()
    [stream] = shop.mappings(next(iter(shop.functions("enqueue"))))
    [source] = EnqueueSettings.from_environment(enqueue["Environment"]["Variables"]).sources
    assert source.table == table
    assert stream["EventSourceArn"] == f"{table}.StreamArn"
    # Beside the app's own things there is only what is the pipeline's own.
    assert len(shop.resources("AWS::DynamoDB::Table")) == 2
    assert len(shop.resources("AWS::SecretsManager::Secret")) == 1
    assert len(shop.resources("AWS::SNS::Topic")) == 2
    assert len(shop.resources("AWS::KMS::Key")) == 1
    [embed] = shop.functions("embed").values()
    assert embed["Environment"]["Variables"]["API_KEY_SECRET"].startswith("ProviderKey")
    decrypting = {
        (
            policy["Roles"][0].partition("Role")[0],
            statement["Condition"]["StringEquals"]["kms:ViaService"].partition(".")[0],
        )
        for policy in shop.properties("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "kms:Decrypt"
    }
    assert decrypting == {
        ("EmbeddingsBackfill", "dynamodb"),
        ("EmbeddingsEnqueue", "dynamodb"),
        ("EmbeddingsSearch", "secretsmanager"),
        ("EmbeddingsTargetDefaultEmbed", "dynamodb"),
        ("EmbeddingsTargetDefaultEmbed", "secretsmanager"),
    }
    topics = set(shop.resources("AWS::SNS::Topic"))
    for alarm in shop.properties("AWS::CloudWatch::Alarm"):
        assert set(alarm["AlarmActions"]) <= topics
    # The names under which a command finds the parts are those of any other stage.
    assert {"LedgerTable", "SourceArticlesSettings"} <= set(template["Outputs"])


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"tables": ["article"]},
            "tables.article: is no name of the settings: one of articles; did you mean articles?",
        ),
        (
            {"api_keys": ["defaults"]},
            "api_keys.defaults: is no name of the settings: one of default; did you mean default?",
        ),
        (
            {"alarm_topics": ["urgent"]},
            "alarm_topics.urgent: is no name of the settings: one of warning, critical",
        ),
        (
            {"api_keys": ["default"]},
            "api_keys.default: is given, and targets.default.api_key_secret_arn is set:"
            " one of the two",
        ),
    ],
)
def test_what_does_not_fit_the_settings_is_named(change: dict[str, list[str]], line: str) -> None:
    """R54 R01: each mistake on a line, with the construct that it is in."""
    stack = Stack(App(), "Shop")
    arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf"
    made: dict[str, Any] = {
        "tables": table_of(stack),
        "api_keys": secretsmanager.Secret(stack, "ProviderKey"),
        "alarm_topics": sns.Topic(stack, "Topic"),
    }
    given = {kind: dict.fromkeys(names, made[kind]) for kind, names in change.items()}
    settings = stage_with(((*DEFAULT, "api_key_secret_arn"), arn))

    with pytest.raises(ConfigError) as refused:
        pipeline(stack, settings, **given)

    assert str(refused.value) == f"EmbeddingPipeline Shop/Embeddings: {line}"


def test_table_without_a_stream_and_secret_by_name_are_refused() -> None:
    """R54 R02: at synth, where a deployment would fail or need a wildcard."""
    stack = Stack(App(), "Shop")
    by_name = secretsmanager.Secret.from_secret_name_v2(stack, "ByName", "provider-key")

    with pytest.raises(ConfigError) as refused:
        pipeline(
            stack,
            tables={"articles": table_of(stack, stream=False)},
            api_keys={"default": by_name},
        )

    assert [line.split(": ")[1:3] for line in str(refused.value).splitlines()] == [
        ["tables.articles", "has no stream"],
        ["api_keys.default", "has no whole ARN"],
    ]


def test_what_is_elsewhere_is_refused_where_the_stack_knows_its_place() -> None:
    """R02: functions would look for a table of that name in their own account."""
    place = Environment(account="123456789012", region="eu-west-1")
    stack = Stack(App(), "Shop", env=place)
    table = "arn:aws:dynamodb:eu-west-1:999999999999:table/Products"
    other = dynamodb.Table.from_table_attributes(
        stack, "Other", table_arn=table, table_stream_arn=f"{table}/stream/2026"
    )
    secret = "arn:aws:secretsmanager:us-east-1:123456789012:secret:key-AbCdEf"
    settings = stage_with(((*DEFAULT, "api_key_secret_arn"), secret))

    with pytest.raises(ConfigError) as refused:
        pipeline(stack, settings, tables={"articles": other})

    assert [line.split(": ", 1)[1] for line in str(refused.value).splitlines()] == [
        "targets.default.api_key_secret_arn: is in us-east-1, and the deployment goes to"
        " eu-west-1: one region",
        "tables.articles: is in account 999999999999, and the stack in 123456789012: a table of"
        " the stack's account",
    ]


def test_wrong_settings_are_named_as_in_cdk_json() -> None:
    """R54 R01: the same lines, with the construct in the file's place."""
    with pytest.raises(ConfigError, match=r"^EmbeddingPipeline Shop/Embeddings: sources\.articles"):
        pipeline(Stack(App(), "Shop"), stage_with(((*ARTICLES, "colour"), "red")))


def test_second_pipeline_of_a_stack_is_refused() -> None:
    """R54 R01: a command could not tell their outputs apart."""
    stack = Stack(App(), "Shop")
    pipeline(stack)

    with pytest.raises(ValueError, match="Give each a stack of its own"):
        EmbeddingPipeline(
            stack, "More", stage="more", settings=stage_with(), code=assets(PLACEHOLDER)
        )


def test_two_pipelines_of_one_app_share_nothing(tmp_path: Path) -> None:
    """R54 R01: one stack each, also in an account that has both."""
    app = App(outdir=str(tmp_path))
    names = []
    for stage in ("shop", "blog"):
        EmbeddingPipeline(
            Stack(app, stage), "P", stage=stage, settings=stage_with(), code=assets(PLACEHOLDER)
        )
    for stack in app.synth().stacks_recursively:
        resources = stack.template["Resources"].values()
        queues = [one for one in resources if one["Type"] == "AWS::SQS::Queue"]
        names += [json.dumps(queue["Properties"]["QueueName"]) for queue in queues]

    assert names
    assert len(set(names)) == len(names)
