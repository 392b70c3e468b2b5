"""docs/updates.md: what CloudFormation, and we, do with each change. Written by `make docs`."""

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from functions.index_setup.ensure import IndexSpec, MisfitError, ensure_index, index_body
from infrastructure.app import pipeline_app
from infrastructure.function_code import PLACEHOLDER
from scripts.template_difference import Difference, Effect, Template, difference
from scripts.updates import CHANGES, Change, Stage, edited, table

ROOT = Path(__file__).resolve().parents[1]
PATH = ROOT / "docs" / "updates.md"
OPENING = """\
# Updates of a deployed stage

What a deployment does with a stage that is there already, change by change. The second column is \
the difference of the two templates, judged by CloudFormation's schemas: what has to be replaced, \
and what is deleted. Names are the beginnings of logical ids. Functions, roles, policies, \
alarms and schedules follow the rest and are not listed.

The stage here has `"removal": "retain"`. With `"destroy"`, what it leaves in the account is \
deleted, but for indexes and for tables of sources.

| change | what CloudFormation does | refused | what to know |
|---|---|---|---|
"""
STAGE = "prod"
# What the cdk command of this version writes into a new cdk.json.
FLAGS = ROOT / "node_modules/aws-cdk/lib/init-templates/.recommended-feature-flags.json"
# What holds data or is read; the rest follows from these.
SHOWN = {
    "AWS::DynamoDB::Table": "table",
    "AWS::SQS::Queue": "queue",
    "AWS::SecretsManager::Secret": "secret",
    "AWS::OpenSearchService::Domain": "domain",
    "Custom::EmbedqIndex": "index",
    "AWS::Lambda::EventSourceMapping": "mapping",
    "AWS::S3::Bucket": "bucket",
    "AWS::Logs::LogGroup": "log group",
    "AWS::SNS::Subscription": "subscription",
    "AWS::KMS::Key": "key",
}
PLURALS = {"index": "indexes"}
ALL_NAMES = 2
_HASH = re.compile(r"[0-9A-F]{8}$")


@dataclass(frozen=True)
class Update:
    """What becomes of one change."""

    change: Change
    differences: tuple[Difference, ...]
    refusals: tuple[str, ...]


def update(change: Change) -> Update:
    """Judge one change."""
    before, after = map(template, change.stages)
    left = {}
    if change.earlier is not None:
        earlier = template(edited(change.earlier))
        left = {
            one.name: earlier["Resources"][one.name]
            for one in difference(earlier, before)
            if one.effect is Effect.LEAVES
        }
    differences = tuple(difference(before, after, left))
    by_aws = [f"by AWS: {change.refused}"] if change.refused else []
    refusals = (*by_aws, *_taken(differences), *_misfits(before, after))
    return Update(change, differences, refusals)


def template(stage: Stage) -> Template:
    """Synthesize a stage, once."""
    return _template(json.dumps(stage))


@cache
def _template(stage: str) -> Template:
    context = json.loads(FLAGS.read_text())
    with tempfile.TemporaryDirectory() as folder:
        made = {**context, "stages": {STAGE: json.loads(stage)}}
        pipeline_app(made, code=PLACEHOLDER, outdir=Path(folder)).synth()
        template = json.loads((Path(folder) / f"embedq-{STAGE}.template.json").read_text())
    return dict(_with_table_names(template, template["Resources"]))


def _with_table_names(value: Any, resources: Mapping[str, Any]) -> Any:
    """Write logical ids for the names of tables, as an existing table is written."""
    match value:
        case {"Fn::GetAtt": [str(name), str(attribute)]} if (
            resources[name]["Type"] == "AWS::DynamoDB::Table"
        ):
            return table(name)["arn" if attribute == "Arn" else "stream_arn"]
        case dict():
            return {key: _with_table_names(part, resources) for key, part in value.items()}
        case list():
            return [_with_table_names(part, resources) for part in value]
        case _:
            return value


def _taken(differences: tuple[Difference, ...]) -> Iterator[str]:
    for one in differences:
        if one.is_refused:
            yield f"by AWS: `{_short(one.name)}` is there already, as another {SHOWN[one.kind]}"


class _DeployedIndex:
    """An index as the deployment before has made it."""

    def __init__(self, spec: IndexSpec) -> None:
        self._spec = spec

    def mapping(self, alias: str) -> dict[str, Any] | None:
        return dict(index_body(self._spec)["mappings"]) if alias == self._spec.alias else None

    def create(self, index: str, body: dict[str, Any]) -> None:
        raise NotImplementedError

    def extend(self, alias: str, properties: dict[str, Any]) -> str | None:
        del alias, properties
        return None

    def add_alias(self, alias: str, index: str) -> None:
        """Take any alias."""

    def sizes(self, alias: str) -> tuple[int, int]:
        del alias
        return self._spec.shards, self._spec.replicas

    def set_replicas(self, alias: str, replicas: int) -> None:
        """Take any number."""


def _misfits(before: Template, after: Template) -> Iterator[str]:
    """Let index_setup judge each index that it would find."""
    old = _indexes(before)
    for place, spec in _indexes(after).items():
        if place in old:
            try:
                ensure_index(spec, _DeployedIndex(old[place]))
            except MisfitError as error:
                yield f"by index_setup: {error}"


def _indexes(template: Template) -> dict[str, IndexSpec]:
    """Return the indexes of a stage by their place."""
    properties = [
        resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Type"] == "Custom::EmbedqIndex"
    ]
    return {
        json.dumps([one["Endpoint"], one["Index"]]): IndexSpec(
            alias=one["Index"],
            model=one["Model"],
            dimensions=one["Dimensions"],
            metadata=one["Metadata"],
            shards=one["Shards"],
            replicas=one["Replicas"],
            compression=one["Compression"],
        )
        for one in properties
    }


def updates_page(updates: Iterable[Update]) -> str:
    """Write the page."""
    rows = [
        f"| {one.change.name} | {_effects(one.differences)} | {'; '.join(one.refusals)} |"
        f" {one.change.note} |\n"
        for one in updates
    ]
    return OPENING + "".join(rows)


def _effects(differences: tuple[Difference, ...]) -> str:
    parts = []
    for effect in Effect:
        kinds: dict[str, list[str]] = {}
        for one in differences:
            if one.effect is effect and one.kind in SHOWN:
                kinds.setdefault(SHOWN[one.kind], []).append(_short(one.name))
        if kinds:
            parts.append(f"{effect}: {', '.join(_group(*group) for group in kinds.items())}")
    return "; ".join(parts) or "new settings only"


def _group(kind: str, names: list[str]) -> str:
    if len(names) <= ALL_NAMES:
        return f"{kind} {' and '.join(f'`{name}`' for name in names)}"
    common = os.path.commonprefix(names)  # noqa: RUF071  (by character is what is wanted)
    shown = f" `{common}...`" if common else ""
    return f"{len(names)} {PLURALS.get(kind, f'{kind}s')}{shown}"


def _short(name: str) -> str:
    return _HASH.sub("", name)


def main() -> int:
    """Write docs/updates.md."""
    PATH.write_text(updates_page(map(update, CHANGES)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
