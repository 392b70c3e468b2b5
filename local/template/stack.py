"""A synthesized template -> the stack that one-machine mode runs. Read, never described again."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from local.specs import ResourceSpec, StackSpec
from local.template.intrinsics import TemplateError, resolve
from local.template.references import Site, TemplateReferences
from local.template.resource_specs import (
    function_spec,
    queue_mapping_spec,
    queue_spec,
    reads_a_queue,
    schedule_specs,
    stream_mapping_spec,
    table_spec,
)
from local.watch.alarms import ALARM, COMPOSITE, read_alarms

TABLE = "AWS::DynamoDB::Table"
QUEUE = "AWS::SQS::Queue"
BUCKET = "AWS::S3::Bucket"
SECRET = "AWS::SecretsManager::Secret"
FUNCTION = "AWS::Lambda::Function"
MAPPING = "AWS::Lambda::EventSourceMapping"
RULE = "AWS::Events::Rule"
INDEX = "Custom::EmbedqIndex"
LOG_GROUP = "AWS::Logs::LogGroup"
_READ = (
    TABLE,
    QUEUE,
    BUCKET,
    SECRET,
    FUNCTION,
    MAPPING,
    RULE,
    INDEX,
    LOG_GROUP,
    ALARM,
    COMPOSITE,
)


def read_stack(template: Mapping[str, Any], site: Site) -> StackSpec:
    """Read everything that one-machine mode runs, and count what it leaves out."""
    return _Reader(template, site).stack()


class _Reader:
    def __init__(self, template: Mapping[str, Any], site: Site) -> None:
        self._template = template
        self._site = site
        self._references = TemplateReferences(template, site)

    def stack(self) -> StackSpec:
        name = self._references.name
        mappings = self._properties(MAPPING)
        ref = self._references.ref
        return StackSpec(
            name=self._site.stack,
            tables=[table_spec(name(id_), found) for id_, found in self._properties(TABLE).items()],
            queues=[queue_spec(name(id_), found) for id_, found in self._properties(QUEUE).items()],
            buckets=[name(id_) for id_ in self._resources(BUCKET)],
            secrets=[name(id_) for id_ in self._resources(SECRET)],
            functions=[
                function_spec(name(id_), id_, found)
                for id_, found in self._properties(FUNCTION).items()
            ],
            queue_mappings=[
                queue_mapping_spec(ref(id_), found)
                for id_, found in mappings.items()
                if reads_a_queue(found)
            ],
            stream_mappings=[
                stream_mapping_spec(ref(id_), found)
                for id_, found in mappings.items()
                if not reads_a_queue(found)
            ],
            schedules=[
                schedule
                for id_, found in self._properties(RULE).items()
                for schedule in schedule_specs(name(id_), found)
            ],
            custom_resources=list(self._properties(INDEX).values()),
            outputs=self._outputs(),
            resources=[
                ResourceSpec(id_, resource["Type"], ref(id_))
                for id_, resource in self._template["Resources"].items()
                if resource["Type"] in _READ
            ],
            alarms=read_alarms(
                {
                    name(id_): {"Type": kind, "Properties": found}
                    for kind in (ALARM, COMPOSITE)
                    for id_, found in self._properties(kind).items()
                }
            ),
            ignored=self._ignored(),
        )

    def _resources(self, kind: str) -> dict[str, Mapping[str, Any]]:
        resources: Mapping[str, Mapping[str, Any]] = self._template["Resources"]
        return {id_: found for id_, found in resources.items() if found["Type"] == kind}

    def _properties(self, kind: str) -> dict[str, Mapping[str, Any]]:
        return {
            id_: self._resolved(id_, resource.get("Properties", {}))
            for id_, resource in self._resources(kind).items()
        }

    def _resolved(self, where: str, value: Any) -> Any:
        try:
            return resolve(value, self._references)
        except TemplateError as error:
            raise TemplateError(f"{where}: {error}") from error

    def _outputs(self) -> dict[str, str]:
        return {
            name: str(self._resolved(f"output {name}", output["Value"]))
            for name, output in self._template.get("Outputs", {}).items()
        }

    def _ignored(self) -> dict[str, int]:
        kinds = Counter(resource["Type"] for resource in self._template["Resources"].values())
        return {kind: count for kind, count in sorted(kinds.items()) if kind not in _READ}
