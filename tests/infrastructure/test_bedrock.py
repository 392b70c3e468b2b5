"""A target on Bedrock: IAM instead of a key, for that model alone."""

from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_secretsmanager as secretsmanager

from infrastructure.app import pipeline_app
from infrastructure.config.mistakes import ConfigError
from infrastructure.function_code import PLACEHOLDER
from infrastructure.pipeline import EmbeddingPipeline
from tests.infrastructure.stages import DEFAULT, STAGE, stage_with
from tests.infrastructure.synthesized import CONTEXT, text

TITAN, COHERE = "amazon.titan-embed-text-v2:0", "cohere.embed-v4:0"
MODEL_ARN = "arn:AWS::Partition:bedrock:{}::foundation-model/{}"
PROFILE_ARN = "arn:AWS::Partition:bedrock:{}:AWS::AccountId:inference-profile/{}"
OWN = "AWS::Region"
US = ("east-1", "east-2", "west-1", "west-2")


def template(*changes: tuple[tuple[str, ...], Any], stage: dict[str, Any] = STAGE) -> Any:
    """Synthesize a stage with these settings changed."""
    changed = stage_with(((*DEFAULT, "provider"), "bedrock"), *changes, good=stage)
    app = pipeline_app({**CONTEXT, "stages": {"mine": changed}}, code=PLACEHOLDER)
    [stack] = app.synth().stacks
    return stack.template


def invocations(found: Any) -> list[list[tuple[Any, Any]]]:
    """Return the resources and the condition of each grant on a model, of each role with one."""
    by_role = [
        [
            (statement["Resource"], statement.get("Condition"))
            for statement in text(one["Properties"])["PolicyDocument"]["Statement"]
            if "bedrock:InvokeModel" in statement["Action"]
        ]
        for one in found["Resources"].values()
        if one["Type"] == "AWS::IAM::Policy"
    ]
    return [grants for grants in by_role if grants]


@pytest.mark.parametrize(
    ("settings", "grants"),
    [
        ({"model": TITAN}, [(MODEL_ARN.format(OWN, TITAN), None)]),
        (
            {"model": COHERE, "region": "eu-central-1"},
            [(MODEL_ARN.format("eu-central-1", COHERE), None)],
        ),
        (
            {"model": f"us.{COHERE}"},
            [
                (PROFILE_ARN.format(OWN, f"us.{COHERE}"), None),
                (
                    [MODEL_ARN.format(f"us-{one}", COHERE) for one in US],
                    PROFILE_ARN.format(OWN, f"us.{COHERE}"),
                ),
            ],
        ),
        (
            {"model": f"global.{COHERE}"},
            [
                (PROFILE_ARN.format(OWN, f"global.{COHERE}"), None),
                (
                    [MODEL_ARN.format(OWN, COHERE), MODEL_ARN.format("", COHERE)],
                    PROFILE_ARN.format(OWN, f"global.{COHERE}"),
                ),
            ],
        ),
    ],
    ids=["model", "region", "profile", "global profile"],
)
def test_embed_and_search_may_call_that_model_alone(
    settings: dict[str, str], grants: list[Any]
) -> None:
    """R17 R84: behind an inference profile the model in its regions, through the profile alone."""
    found = invocations(template(*(((*DEFAULT, name), one) for name, one in settings.items())))

    assert len(found) == 2
    assert (
        found[0]
        == found[1]
        == [
            (
                resource,
                None
                if profile is None
                else {"StringEquals": {"bedrock:InferenceProfileArn": profile}},
            )
            for resource, profile in grants
        ]
    )


def test_target_without_a_key_has_no_secret_and_names_none() -> None:
    """R84: neither a resource, nor a right, nor an output, nor a variable."""
    found = template(((*DEFAULT, "model"), TITAN))

    kinds = {one["Type"] for one in found["Resources"].values()}
    assert "AWS::SecretsManager::Secret" not in kinds
    assert "secretsmanager" not in str(found["Resources"])
    assert not [name for name in found["Outputs"] if "ApiKey" in name]


def test_vpc_has_an_endpoint_for_bedrock_and_none_for_secrets() -> None:
    """R17 R84: a stage with Bedrock alone needs no way to the internet."""
    private = CONTEXT["stages"]["private"]
    found = template(((*DEFAULT, "model"), TITAN), stage=private)
    elsewhere = template(
        ((*DEFAULT, "model"), TITAN), ((*DEFAULT, "region"), "us-west-2"), stage=private
    )

    def services(one: Any) -> set[str]:
        made = [text(r["Properties"]) for r in one["Resources"].values() if "VPCE" in r["Type"]]
        return {endpoint["ServiceName"].rpartition("AWS::Region.")[2] for endpoint in made}

    common = {"dynamodb", "s3", "sqs", "lambda", "events"}
    assert services(found) == common | {"bedrock-runtime"}
    # An endpoint leads to the services of its own region.
    assert services(elsewhere) == common


def test_key_given_for_a_target_on_bedrock_is_refused() -> None:
    """R54: the app hands over a secret that nobody would read."""
    stack = Stack(App(), "Mine")
    stage = stage_with(((*DEFAULT, "provider"), "bedrock"), ((*DEFAULT, "model"), TITAN))

    with pytest.raises(ConfigError, match="provider bedrock asks for no key"):
        EmbeddingPipeline(
            stack,
            "Pipeline",
            stage="mine",
            settings=stage,
            api_keys={"default": secretsmanager.Secret(stack, "Key")},
            code={},
        )
