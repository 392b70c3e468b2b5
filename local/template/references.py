"""What Ref and Fn::GetAtt give for each resource type, as AWS documents it for that type."""

from collections.abc import Callable, Mapping
from typing import Any

from local.aws_client import local_arn
from local.template.intrinsics import TemplateError, resolve
from local.template.names import NAME_PROPERTIES, mapping_id, physical_names
from local.template.site import Site

# A stream gets its label when the table is made; until then this one stands for it.
UNKNOWN_STREAM = "not-made-yet"

_Attribute = Callable[[Site, str], str]

_ATTRIBUTES: Mapping[str, Mapping[str, _Attribute]] = {
    "AWS::DynamoDB::Table": {
        "Arn": lambda _, name: local_arn("dynamodb", f"table/{name}"),
        "StreamArn": lambda _, name: unknown_stream_arn(name),
    },
    "AWS::Events::Rule": {"Arn": lambda _, name: local_arn("events", f"rule/{name}")},
    "AWS::Lambda::Function": {"Arn": lambda _, name: local_arn("lambda", f"function:{name}")},
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
            # Roles, keys, log groups: nobody asks for them here, but functions name them.
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
