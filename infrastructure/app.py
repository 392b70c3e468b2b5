"""cdk.json's context -> the CDK app: one PipelineStack per stage, or for `-c stage=` alone."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aws_cdk import App, Stack
from constructs import Construct

from infrastructure.config.mistakes import ConfigError, Mistake, one_of
from infrastructure.config.parser import parse_stages
from infrastructure.config.places import elsewhere
from infrastructure.config.stage import StageConfig
from infrastructure.function_code import assets, code_of
from infrastructure.names import stack_name
from infrastructure.pipeline import Code, EmbeddingPipeline


def pipeline_app(
    context: Mapping[str, Any], *, code: Mapping[str, Path], outdir: Path | None = None
) -> App:
    """Build the app. Context that the cdk command gives wins over what is passed here."""
    app = App(
        context=dict(context),
        analytics_reporting=False,
        outdir=None if outdir is None else str(outdir),
    )
    stages = parse_stages(app.node.try_get_context("stages"))
    chosen = _chosen(app.node.try_get_context("stage"), stages)
    built = code_of(app, code)
    for stage in chosen:
        PipelineStack(app, stage=stage, config=stages[stage], code=assets(built))
    return app


def _chosen(stage: str | None, stages: Mapping[str, StageConfig]) -> tuple[str, ...]:
    if stage is None:
        return tuple(stages)
    if stage not in stages:
        wrong = f'"{stage}" is no stage of this file'
        raise ConfigError([Mistake(("stages",), wrong, one_of(stage, stages))])
    # The cdk command sets them, from your profile. Only a stage that was chosen is to be deployed.
    found = elsewhere(
        stages[stage],
        region=os.environ.get("CDK_DEFAULT_REGION"),
        account=os.environ.get("CDK_DEFAULT_ACCOUNT"),
    )
    if mistakes := [one.under(("stages", stage)) for one in found]:
        raise ConfigError(mistakes)
    return (stage,)


class PipelineStack(Stack):
    """One stage of cdk.json, in a stack of its own."""

    def __init__(self, scope: Construct, *, stage: str, config: StageConfig, code: Code) -> None:
        super().__init__(
            scope,
            stack_name(stage),
            description=f"embedq, stage {stage}: DynamoDB changes become vectors in OpenSearch",
            termination_protection=config.removal == "retain",
        )
        # The CDK leaves the id "Default" out of the names of what is inside.
        EmbeddingPipeline(self, "Default", stage=stage, settings=config, code=code)
