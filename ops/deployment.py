"""One deployed stack, on this machine or in AWS, found through its outputs."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError
from pydantic import ValidationError

from functions.adapters.dynamodb_control import DynamoDbControl
from functions.adapters.dynamodb_ledger import DynamoDbLedger
from functions.adapters.opensearch_http import IndexCalls, OpenSearchError, segment
from functions.adapters.sqs_tasks import SqsTasks
from functions.core.entry_shape import live
from functions.core.failure import FailureError
from functions.core.lane import lanes_of, queue_name
from functions.core.ledger_row import Group
from functions.core.ports import Listed
from functions.core.settings import (
    Ordering,
    SourceSettings,
    TargetSettings,
    deployed_pairs,
    unnamed_target,
)
from infrastructure.config.address import LOOPBACK
from infrastructure.names import pascal, stack_name
from ops.index_questions import IndexThroughFunction
from ops.output import UsageError

# What a call to a stack may raise, whatever the command.
STACK_ERRORS = (FailureError, OpenSearchError, ClientError, BotoCoreError)
DEPTHS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")

Found = TypeVar("Found")
Settings = TypeVar("Settings", SourceSettings, TargetSettings)


class NoStackError(UsageError):
    """No stack has this name, or none that may be read."""


class Outputs(dict[str, str]):
    """The outputs of a stack; one that another version of embedq deployed may lack some."""

    def __missing__(self, name: str) -> str:
        raise UsageError(
            f"the stack has no output {name}: it was deployed by another version of embedq; deploy"
            " it again, or use the command of that version"
        )


@dataclass(frozen=True)
class Deployment:
    """One stack: how to reach it, and what its outputs name."""

    outputs: dict[str, str]
    session: boto3.Session
    endpoint_url: str | None = None  # None: AWS
    stage: str | None = None  # None: this machine
    stack_arn: str = ""

    @property
    def place(self) -> str:
        """Name the stack and where it is, so that nobody changes another than they think."""
        _, _, _, region, account, resource = self.stack_arn.split(":", 5)
        where = f"in AWS, account {account}, region {region}" if self.stage else "on this machine"
        return f"the stack {resource.split('/')[1]} {where}"

    def client(self, service: Any, config: Config | None = None) -> Any:
        return self.session.client(service, endpoint_url=self.endpoint_url, config=config)

    def command(self, *words: str) -> str:
        """Return a command about this stack, as a shell takes it."""
        place = ["--stage", self.stage] if self.stage else []
        return f"embedq {shlex.join([*words, *place])}"

    def status_command(self, document: str, source: str, target: str | None = None) -> str:
        """Return the command that shows what became of a document."""
        options = []
        if len(self.sources) > 1:
            options += ["--source", source]
        if len(self.targets) > 1:
            options += ["--target", target or self.sources[source].targets[0]]
        return self.document_command(["status"], document, options)

    def document_command(self, words: Sequence[str], document: str, options: Sequence[str]) -> str:
        """Return a command about a document; an id that looks like an option comes last."""
        if not document.startswith("-"):
            return self.command(*words, document, *options)
        return f"{self.command(*words, *options)} {shlex.join(['--', document])}"

    @cached_property
    def sources(self) -> dict[str, SourceSettings]:
        found = _read("source", SourceSettings, self._settings("Source"))
        return {source.name: source for source in found}

    @cached_property
    def targets(self) -> dict[str, TargetSettings]:
        found = _read("target", TargetSettings, self._settings("Target"))
        return {target.name: target for target in found}

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Name each target with each source that feeds it."""
        return deployed_pairs(self.sources.values())

    def listed(self, groups: Sequence[Group], *, due_ms: int | None = None) -> Iterator[Listed]:
        """Yield the rows of some groups, without those of what is no longer deployed."""
        found = self.ledger.listed(groups, due_ms=due_ms)
        return (one for one in found if one.is_fed(self.pairs))

    def source(self, name: str | None) -> SourceSettings:
        return _only(self.sources, name, "source")

    def target(self, name: str | None) -> TargetSettings:
        meant = unnamed_target(self.targets) if name is None else None
        return meant or _only(self.targets, name, "target")

    def pair(self, source: str | None, target: str | None) -> tuple[SourceSettings, TargetSettings]:
        """Return a source and a target that it feeds, by their names where there are several."""
        origin, goal = self.source(source), self.target(target)
        if goal.name not in origin.targets:
            feeds = ", ".join(origin.targets)
            raise UsageError(f"source {origin.name} does not feed target {goal.name}, but {feeds}")
        return origin, goal

    def key_types(self, table: str) -> dict[str, str]:
        """Return the type of each key attribute of a table: S, N or B."""
        found = self.dynamodb.describe_table(TableName=table)["Table"]
        return {one["AttributeName"]: one["AttributeType"] for one in found["AttributeDefinitions"]}

    @cached_property
    def dynamodb(self) -> Any:
        return self.client("dynamodb")

    @cached_property
    def ledger(self) -> DynamoDbLedger:
        return DynamoDbLedger(self.dynamodb, self.outputs["LedgerTable"])

    @cached_property
    def control(self) -> DynamoDbControl:
        return DynamoDbControl(self.dynamodb, self.outputs["LedgerTable"])

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
    def sqs(self) -> Any:
        return self.client("sqs")

    def depth(self, url: str) -> tuple[int, int]:
        """Return how many messages of a queue wait, and how many are hidden."""
        answer = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(DEPTHS))
        return int(answer["Attributes"][DEPTHS[0]]), int(answer["Attributes"][DEPTHS[1]])

    def count_dead_letters(self, target: str) -> int:
        return sum(sum(self.depth(url)) for url in self.dead_letter_urls(target))

    def mapping(self, output: str) -> dict[str, Any]:
        """Describe the event source mapping that an output names."""
        found = self.lambda_.get_event_source_mapping(UUID=self.outputs[output])
        return dict(found)

    @cached_property
    def lambda_(self) -> Any:
        return self.client("lambda")

    @cached_property
    def tasks(self) -> SqsTasks:
        return SqsTasks(self.sqs, self.queues)

    @cached_property
    def index(self) -> IndexCalls:
        return IndexThroughFunction(self.lambda_, self.outputs["QueryFunction"])

    def ask_index(
        self,
        target: str,
        action: str,
        body: object = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request about the index of a target to OpenSearch."""
        path = f"{segment(self.targets[target].index)}/{action}"
        return self.index.call("POST", path, body, query=query)

    def count_searchable(self, target: str, source: str | None = None) -> int:
        """Count the documents of a target, or of one source in it, that a search can find."""
        return int(self.ask_index(target, "_count", {"query": live(source)})["count"])

    def secret_arn(self, target: str) -> str:
        """Name the secret that holds the key of a target's provider; empty if it asks for none."""
        return self.outputs.get(pascal("target", target, "api-key-secret-arn"), "")

    def _settings(self, kind: str) -> list[str]:
        return [
            value
            for name, value in self.outputs.items()
            if name.startswith(kind) and name.endswith("Settings")
        ]

    def _queue_names(self, target: str) -> list[str]:
        sequential = [
            source.name
            for source in self.sources.values()
            if source.ordering is Ordering.SEQUENTIAL and target in source.targets
        ]
        return [queue_name(lane, source) for lane, source in lanes_of(sequential)]


def in_aws(stage: str, *, profile: str | None = None, region: str | None = None) -> Deployment:
    """Find a stage in AWS, with the credentials of the environment or of a profile."""
    # As `embedq up` prints it for other clients.
    address = os.environ.get("AWS_ENDPOINT_URL", "")
    if _host(address) in LOOPBACK:
        raise UsageError(
            f"--stage names a stage in AWS, and AWS_ENDPOINT_URL leads to {address}, on this"
            " machine: unset it, or leave --stage out for the stack that runs here"
        )
    return find_stage(stage, profile=profile, region=region)


def _host(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises where it is none
    except ValueError:
        parts = None
    if parts is None or (address and not parts.hostname):
        raise UsageError(f"AWS_ENDPOINT_URL is no address: {address}")
    return parts.hostname


def find_stage(stage: str, *, profile: str | None = None, region: str | None = None) -> Deployment:
    """Find a stage where the environment leads to: in AWS, or on this machine."""
    try:
        # boto3 knows AWS_DEFAULT_REGION only; the aws command and Lambda use this name.
        region = region or os.environ.get("AWS_REGION") or None
        session = boto3.Session(profile_name=profile, region_name=region)
    except BotoCoreError as error:
        raise UsageError(str(error)) from error
    # A stage of cdk.json, or the stack that holds the pipeline in an app of your own.
    try:
        return describe(stack_name(stage), session, stage=stage)
    except NoStackError as missing:
        try:
            return describe(stage, session, stage=stage)
        except NoStackError:
            raise missing from None


def describe(
    stack: str,
    session: boto3.Session,
    *,
    endpoint_url: str | None = None,
    stage: str | None = None,
) -> Deployment:
    """Read the outputs of a stack."""
    try:
        if session.region_name == "":
            # AWS_DEFAULT_REGION is set to nothing, and boto3 takes that for a name.
            raise NoRegionError
        client = session.client("cloudformation", endpoint_url=endpoint_url)
        [found] = client.describe_stacks(StackName=stack)["Stacks"]
    except (ClientError, BotoCoreError) as error:
        # Who may read one stack alone is not told whether there is another.
        said = ("does not exist", "AccessDenied")
        is_missing = isinstance(error, ClientError) and any(one in str(error) for one in said)
        kind = NoStackError if is_missing else UsageError
        raise kind(f"the stack {stack} cannot be read: {_advice(error, stage)}") from error
    listed = found.get("Outputs", [])
    outputs = Outputs((one["OutputKey"], one["OutputValue"]) for one in listed)
    if "LedgerTable" not in outputs:
        raise UsageError(f"the stack {stack} holds no pipeline of embedq, or is not deployed yet")
    return Deployment(outputs, session, endpoint_url, stage, found["StackId"])


def _advice(error: Exception, stage: str | None) -> str:
    """Say what to do about a stack that cannot be read."""
    match error:
        case NoRegionError():
            return "no AWS region is set: name it with --region, or in AWS_REGION"
        case NoCredentialsError():
            return "no AWS credentials were found: name a profile with --profile, or log in to AWS"
        case ClientError() if stage and "does not exist" in str(error):
            return (
                "there is none in this account and region: name another with --stage, --region"
                f" or --profile, or deploy it with `make deploy STAGE={stage}`"
            )
    return str(error)


def _read(what: str, kind: type[Settings], written: Sequence[str]) -> list[Settings]:
    """Read settings, which a newer version may have written."""
    try:
        return [kind.model_validate_json(one) for one in written]
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, one["loc"])) for one in error.errors())
        raise UsageError(
            f"the stack has a {what} with {fields}, which this version of embedq cannot read: use"
            " the version that has deployed it"
        ) from error


def _only(known: dict[str, Found], name: str | None, what: str) -> Found:
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    if name is None or name not in known:
        asked = f"which {what}?" if name is None else f"{name} is no {what} of this stack:"
        raise UsageError(f"{asked} --{what} is one of: {', '.join(sorted(known))}")
    return known[name]
