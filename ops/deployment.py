"""A deployed stage, on this machine or in AWS, as its stack's outputs tell it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from functions.adapters.dynamodb_ledger import DynamoDbLedger
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.sqs_tasks import SqsTasks
from functions.core.lane import lanes_of, queue_name
from functions.core.settings import Ordering, SourceSettings, TargetSettings
from infrastructure.resource_names import pascal, stack_name
from local import background
from local.aws_client import local_session

Found = TypeVar("Found")


class UsageError(Exception):
    """The command cannot be carried out; the message says what to do."""


@dataclass(frozen=True)
class Deployment:
    """One stage: everything is found through its outputs."""

    outputs: dict[str, str]
    session: boto3.Session
    endpoint_url: str | None = None

    def client(self, service: Any) -> Any:
        return self.session.client(service, endpoint_url=self.endpoint_url)

    @cached_property
    def sources(self) -> dict[str, SourceSettings]:
        found = [
            SourceSettings.model_validate_json(value)
            for name, value in self.outputs.items()
            if name.startswith("Source") and name.endswith("Settings")
        ]
        return {source.name: source for source in found}

    @cached_property
    def targets(self) -> dict[str, TargetSettings]:
        found = [
            TargetSettings.model_validate_json(value)
            for name, value in self.outputs.items()
            if name.startswith("Target") and name.endswith("Settings")
        ]
        return {target.name: target for target in found}

    def source(self, name: str | None) -> SourceSettings:
        return _only(self.sources, name, "source")

    def target(self, name: str | None) -> TargetSettings:
        return _only(self.targets, name, "target")

    @cached_property
    def ledger(self) -> DynamoDbLedger:
        return DynamoDbLedger(self.client("dynamodb"), self.outputs["LedgerTable"])

    @cached_property
    def queues(self) -> dict[str, dict[str, str]]:
        """Name each target's lanes and their URLs."""
        return {
            target: {
                queue: self.outputs[f"{pascal('target', target, 'lane', queue)}Url"]
                for queue in self._queue_names(target)
            }
            for target in self.targets
        }

    def dead_letter_urls(self, target: str) -> list[str]:
        prefix = pascal("target", target, "dead-letters")
        return [self.outputs[f"{prefix}{kind}Url"] for kind in ("Fifo", "Standard")]

    @cached_property
    def tasks(self) -> SqsTasks:
        return SqsTasks(self.client("sqs"), self.queues)

    @cached_property
    def index(self) -> OpenSearchHttp:
        return OpenSearchHttp(
            self.outputs["IndexEndpoint"],
            credentials=self.session.get_credentials(),
            region=self.session.region_name,
        )

    def secret_arn(self, target: str) -> str:
        """Name the secret that holds the key of a target's provider."""
        return self.outputs[pascal("target", target, "api-key-secret-arn")]

    def _queue_names(self, target: str) -> list[str]:
        sequential = [
            source.name
            for source in self.sources.values()
            if source.ordering is Ordering.SEQUENTIAL and target in source.targets
        ]
        return [queue_name(lane, source) for lane, source in lanes_of(sequential)]


def connect(stage: str | None) -> Deployment:
    """Find the stack of a stage in AWS, or the one that runs here."""
    if stage is None:
        found = background.find_any()
        if found is None:
            raise UsageError(
                "no stack runs here: start one with `embedq up`, or name a stage in AWS"
                " with --stage"
            )
        _, running = found
        return local_deployment(running.endpoint_url, running.stack)
    return _describe(boto3.Session(), stack_name(stage), None)


def local_deployment(endpoint_url: str, stack: str = background.STACK) -> Deployment:
    """Find a stack behind an endpoint of this machine."""
    return _describe(local_session(), stack, endpoint_url)


def _describe(session: boto3.Session, stack: str, endpoint_url: str | None) -> Deployment:
    try:
        client = session.client("cloudformation", endpoint_url=endpoint_url)
        [found] = client.describe_stacks(StackName=stack)["Stacks"]
    except (ClientError, BotoCoreError) as error:
        raise UsageError(f"the stack {stack} cannot be read: {error}") from error
    outputs = {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", [])}
    return Deployment(outputs, session, endpoint_url)


def _only(known: dict[str, Found], name: str | None, what: str) -> Found:
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    if name is None or name not in known:
        raise UsageError(f"which {what}? --{what} is one of: {', '.join(sorted(known))}")
    return known[name]
