"""What Ref and Fn::GetAtt give for each resource type, and the physical names behind them."""

import hashlib
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from local.aws_client import ACCOUNT, REGION, local_arn
from local.template.intrinsics import TemplateError, resolve

# The CDK ends a logical id with eight digits that keep equal names apart.
_HASH = re.compile(r"[0-9A-F]{8}$")
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# The shortest limit of all that are named here: buckets and functions take about this many.
_CHARACTERS = 63

NAME_PROPERTIES = {
    "AWS::DynamoDB::Table": "TableName",
    "AWS::Events::Rule": "Name",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::SecretsManager::Secret": "Name",
}
# A stream gets its label when the table is made; until then this one stands for it.
UNKNOWN_STREAM = "not-made-yet"


@dataclass(frozen=True)
class Site:
    """What CloudFormation's pseudo parameters stand for here."""

    stack: str
    endpoint_url: str

    def queue_url(self, name: str) -> str:
        """Return where a queue's calls go: to the one endpoint."""
        return f"{self.endpoint_url.rstrip('/')}/{ACCOUNT}/{name}"

    def pseudo_parameters(self) -> dict[str, str]:
        """Return the values of AWS::Region and its like."""
        return {
            "AWS::AccountId": ACCOUNT,
            "AWS::Partition": "aws",
            "AWS::Region": REGION,
            "AWS::StackId": local_arn("cloudformation", f"stack/{self.stack}/{self.stack}"),
            "AWS::StackName": self.stack,
            "AWS::URLSuffix": "amazonaws.com",
        }


_Attribute = Callable[[Site, str], str]

_ATTRIBUTES: Mapping[str, Mapping[str, _Attribute]] = {
    "AWS::DynamoDB::Table": {
        "Arn": lambda _, name: local_arn("dynamodb", f"table/{name}"),
        "StreamArn": lambda _, name: unknown_stream_arn(name),
    },
    "AWS::Events::Rule": {"Arn": lambda _, name: local_arn("events", f"rule/{name}")},
    "AWS::Lambda::Function": {"Arn": lambda _, name: local_arn("lambda", f"function:{name}")},
    # Direct calls alone reach a function here.
    "AWS::Lambda::Url": {"FunctionUrl": lambda _site, _name: "none on this machine"},
    # Where a stack runs, its index is the engine of this machine; alarms are read without one.
    "AWS::OpenSearchService::Domain": {"DomainEndpoint": lambda _, name: f"{name}.invalid"},
    "AWS::S3::Bucket": {"Arn": lambda _, name: f"arn:aws:s3:::{name}"},
    "AWS::SNS::Topic": {
        "TopicArn": lambda _, name: local_arn("sns", name),
        "TopicName": lambda _, name: name,
    },
    "AWS::SQS::Queue": {
        "Arn": lambda _, name: local_arn("sqs", name),
        "QueueName": lambda _, name: name,
        "QueueUrl": lambda site, name: site.queue_url(name),
    },
    "AWS::SecretsManager::Secret": {"Id": lambda _, name: secret_arn(name)},
}
# Where Ref is not the name.
_REFS: Mapping[str, _Attribute] = {
    "AWS::SNS::Topic": lambda _, name: local_arn("sns", name),
    "AWS::SQS::Queue": lambda site, name: site.queue_url(name),
    "AWS::SecretsManager::Secret": lambda _, name: secret_arn(name),
}


def unknown_stream_arn(table: str) -> str:
    """Stand in for the ARN of a table's stream until the table is there."""
    return local_arn("dynamodb", f"table/{table}/stream/{UNKNOWN_STREAM}")


def secret_arn(name: str) -> str:
    """Name a secret without the six random characters, which Secrets Manager takes as well."""
    return local_arn("secretsmanager", f"secret:{name}")


class TemplateReferences:
    """The names of one template on this machine."""

    def __init__(self, template: Mapping[str, Any], site: Site) -> None:
        self._site = site
        self._resources: Mapping[str, Mapping[str, Any]] = template["Resources"]
        self._invented = physical_names(site.stack, self._resources)
        self._values = {
            name: str(parameter["Default"])
            for name, parameter in template.get("Parameters", {}).items()
            if "Default" in parameter
        } | site.pseudo_parameters()

    def name(self, logical_id: str) -> str:
        """Return a resource's physical name."""
        resource = self._resource(logical_id)
        given = resource.get("Properties", {}).get(NAME_PROPERTIES.get(resource["Type"], ""))
        return self._invented[logical_id] if given is None else str(resolve(given, self))

    def ref(self, name: str) -> str:
        """Return what Ref gives for a resource or parameter."""
        if name in self._values:
            return self._values[name]
        kind = self._resource(name)["Type"]
        if kind == "AWS::Lambda::EventSourceMapping":
            return mapping_id(self._site.stack, name)
        return _REFS[kind](self._site, self.name(name)) if kind in _REFS else self.name(name)

    def attribute(self, logical_id: str, name: str) -> str:
        """Return what Fn::GetAtt gives for a resource."""
        kind = self._resource(logical_id)["Type"]
        if kind == "AWS::Lambda::EventSourceMapping" and name == "Id":
            return self.ref(logical_id)
        found = _ATTRIBUTES.get(kind, {}).get(name)
        if found is None and name == "Arn":
            # Roles, keys, log groups: they are not made here, but functions name them.
            return local_arn(kind.split("::")[1].lower(), self.name(logical_id))
        if found is None:
            raise TemplateError(
                f"{logical_id}: attribute {name} of {kind} is not known to one-machine mode"
            )
        return found(self._site, self.name(logical_id))

    def _resource(self, logical_id: str) -> Mapping[str, Any]:
        if logical_id not in self._resources:
            raise TemplateError(f"{logical_id} is neither a resource nor a parameter with a value")
        return self._resources[logical_id]


def physical_names(stack: str, resources: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Name every resource that the template leaves unnamed."""
    names: dict[str, str] = {}
    taken: set[tuple[str, str]] = set()
    for logical_id, resource in resources.items():
        kind = resource["Type"]
        suffix = ".fifo" if resource.get("Properties", {}).get("FifoQueue") else ""
        name = _readable(stack, _HASH.sub("", logical_id) or logical_id, suffix)
        if (kind, name) in taken:
            name = _readable(stack, logical_id, suffix)
        taken.add((kind, name))
        names[logical_id] = name
    return names


def mapping_id(stack: str, logical_id: str) -> str:
    """Give an event source mapping the kind of id that Lambda would, the same every time."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"embedq:{stack}:{logical_id}"))


def _readable(stack: str, words: str, suffix: str) -> str:
    name = f"{stack}-{_WORD_START.sub('-', words).lower()}"
    limit = _CHARACTERS - len(suffix)
    if len(name) > limit:
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = f"{name[: limit - 9].rstrip('-')}-{digest}"
    return name + suffix
