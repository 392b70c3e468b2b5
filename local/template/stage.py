"""A stage of cdk.json as one machine runs it: all of it, with other addresses and another model."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from local.aws_client import local_arn
from local.template.references import unknown_stream_arn

# Ports differ from start to start. These names, which no network has, stand in the template
# instead, so that one synthesis serves all starts: https://www.rfc-editor.org/rfc/rfc2606
INDEX_PLACEHOLDER = "https://index.invalid"
MODELS_PLACEHOLDER = "https://models.invalid"
# Of a stage: what is about AWS alone.
ELSEWHERE = {
    "vpc": "network: left out here, the functions are processes of this machine",
    "encryption_key_arn": "encryption: left out here, files are as this machine keeps them",
}
# Of a target: what is about its own provider.
PROVIDERS_OWN = ("api_key_secret_arn", "api_key_encryption_key_arn", "region")


@dataclass(frozen=True)
class LocalModel:
    """The model that stands in for each target's own."""

    name: str = "all-MiniLM-L6-v2"
    dimensions: int = 384
    # Of a model that replaces another one: MiniLM has zeros at the end then.
    other_dimensions: int = 512
    most_tokens: int | None = None  # it reads no more of a text; None: it reads all


MINILM = LocalModel(most_tokens=200)


@dataclass(frozen=True)
class LocalAddresses:
    """Where the engines outside AWS answer."""

    index: str  # OpenSearch
    models: str  # the model server, without a path

    def put_into(self, template: str) -> dict[str, Any]:
        """Replace the placeholders of a synthesized template and parse it."""
        text = template.replace(INDEX_PLACEHOLDER, self.index.rstrip("/"))
        parsed: dict[str, Any] = json.loads(
            text.replace(MODELS_PLACEHOLDER, self.models.rstrip("/"))
        )
        return parsed


def local_stage(stage: Mapping[str, Any], model: LocalModel) -> dict[str, Any]:
    """Change what cannot be the same here, and leave the rest of the stage as deployed."""
    return {
        **{key: value for key, value in stage.items() if key not in ELSEWHERE},
        "sources": {name: _local_source(source) for name, source in stage["sources"].items()},
        "targets": {
            name: _local_target(found, _model_of(found, stage["targets"], model))
            for name, found in stage["targets"].items()
        },
        "opensearch": {"endpoint": INDEX_PLACEHOLDER},
        "removal": "destroy",
        "enabled": True,
    }


def changes_here(stage: Mapping[str, Any], model: LocalModel) -> Iterator[str]:
    """Say in a line each what is not as deployed."""
    for name, source in stage["sources"].items():
        if "table" in source:
            table = _table_name(source)
            yield f"source {name}: the table {table} is made here, empty and with the same key"
    for name, target in stage["targets"].items():
        here = _model_of(target, stage["targets"], model)
        provider = target.get("provider", "openai")
        length = (
            "vectors made as long as the model's"
            if provider == "bedrock"
            else f"{here.dimensions} dimensions"
        )
        chunks = f", at most {model.most_tokens} tokens a chunk" if model.most_tokens else ""
        yield (
            f"target {name}: {provider} {target['model']} is {model.name} here, on this machine:"
            f" {length}{chunks}, no key"
        )
    if "endpoint" in stage["opensearch"]:
        yield f"index: OpenSearch on this machine, not {stage['opensearch']['endpoint']}"
    else:
        yield "index: one node of OpenSearch on this machine stands for the domain"
    yield from (line for key, line in ELSEWHERE.items() if key in stage)
    if not stage.get("enabled", True):
        yield "enabled is false: here streams and lanes are read all the same"


def existing_tables(stage: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Describe the tables that are there in AWS, as resources of the template that makes them."""
    return {
        f"Existing{number}": _table(source)
        for number, source in enumerate(stage["sources"].values())
        if "table" in source
    }


def _table(source: Mapping[str, Any]) -> dict[str, Any]:
    key: Mapping[str, str] = source["key"]
    return {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "TableName": _table_name(source),
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind} for name, kind in key.items()
            ],
            "KeySchema": [
                {"AttributeName": name, "KeyType": role}
                for name, role in zip(key, ("HASH", "RANGE"), strict=False)
            ],
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": {"StreamViewType": "NEW_IMAGE"},
        },
    }


def _table_name(source: Mapping[str, Any]) -> str:
    return str(source["table"]["arn"]).rpartition("/")[2]


def _local_source(source: Mapping[str, Any]) -> dict[str, Any]:
    if "table" not in source:
        return dict(source)
    name = _table_name(source)
    table = {"arn": local_arn("dynamodb", f"table/{name}"), "stream_arn": unknown_stream_arn(name)}
    return {**source, "table": table}


def _model_of(
    target: Mapping[str, Any], targets: Mapping[str, Mapping[str, Any]], model: LocalModel
) -> LocalModel:
    """Let a model that replaces another one differ from it here, too: by its dimensions."""
    replaced = targets.get(target.get("replaces", ""), target)
    is_same = all(replaced.get(key) == target.get(key) for key in ("model", "dimensions"))
    return model if is_same else replace(model, dimensions=model.other_dimensions)


def _local_target(target: Mapping[str, Any], model: LocalModel) -> dict[str, Any]:
    return {
        **{key: value for key, value in target.items() if key not in PROVIDERS_OWN},
        **_stand_in(target, model),
        **_chunks(target, model),
        # One node has no place for a copy.
        "replicas": 0,
    }


def _chunks(target: Mapping[str, Any], model: LocalModel) -> dict[str, Any]:
    if model.most_tokens is None:
        return {}
    return {"chunk_tokens": min(target.get("chunk_tokens", model.most_tokens), model.most_tokens)}


def _stand_in(target: Mapping[str, Any], model: LocalModel) -> dict[str, Any]:
    """Address the model server in the language of the target's provider."""
    match target.get("provider"):
        case "bedrock":
            # The model decides the form of requests and the length of vectors.
            return {"base_url": MODELS_PLACEHOLDER}
        case "azure":
            address = {"provider": "azure", "base_url": MODELS_PLACEHOLDER}
        case _:
            address = {"provider": "compatible", "base_url": f"{MODELS_PLACEHOLDER}/v1"}
    length = {"dimensions": model.dimensions, "send_dimensions": True}
    return {**address, "model": model.name, **length}
