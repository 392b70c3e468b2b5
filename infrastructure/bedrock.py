"""The ARNs of a model of Bedrock, and of the inference profile that it is called by."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import ArnFormat, Stack

from functions.adapters.bedrock_models import GLOBAL, PROFILE_REGIONS, base_model, profile_of


@dataclass(frozen=True)
class ModelArns:
    """What a request names, and what it reaches through that."""

    called: str
    behind: Sequence[str] = ()  # of an inference profile: the model in its regions


def model_arns(stack: Stack, model: str, region: str | None) -> ModelArns:
    """Name what is called from a region, or from the stack's own."""
    region = region or stack.region
    profile = profile_of(model)
    if profile is None:
        return ModelArns(_model_arn(stack, model, region))
    called = stack.format_arn(
        service="bedrock", region=region, resource="inference-profile", resource_name=model
    )
    # The profile of the world asks in this region, and without one:
    # https://docs.aws.amazon.com/bedrock/latest/userguide/global-cross-region-inference.html
    regions = (region, "") if profile == GLOBAL else PROFILE_REGIONS[profile]
    return ModelArns(called, [_model_arn(stack, base_model(model), one) for one in regions])


def _model_arn(stack: Stack, model: str, region: str) -> str:
    # The models belong to no account, and a colon may stand in their names.
    return stack.format_arn(
        service="bedrock",
        region=region,
        account="",
        resource="foundation-model",
        resource_name=model,
        arn_format=ArnFormat.SLASH_RESOURCE_NAME,
    )
