"""cdk.json's context -> the CDK app: one PipelineStack per stage, or for `-c stage=` alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aws_cdk import App

from infrastructure.config.mistakes import ConfigError, Mistake, one_of
from infrastructure.config.parser import parse_stages
from infrastructure.function_code import assets, code_of
from infrastructure.stack import PipelineStack


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
    chosen = _chosen(app.node.try_get_context("stage"), known=tuple(stages))
    built = code_of(app, code)
    for stage in chosen:
        PipelineStack(app, stage=stage, config=stages[stage], code=assets(built))
    return app


def _chosen(stage: str | None, *, known: tuple[str, ...]) -> tuple[str, ...]:
    if stage is None:
        return known
    if stage not in known:
        wrong = f'"{stage}" is no stage of this file'
        raise ConfigError([Mistake(("stages",), wrong, one_of(stage, known))])
    return (stage,)
