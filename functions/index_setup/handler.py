"""DEPLOY -> INDEX: a CloudFormation custom resource. A misfit fails the deployment, in words."""

import json
import time
import urllib.request
from collections.abc import Mapping
from typing import Any

import boto3
from pydantic import BaseModel, ConfigDict, ValidationError

from functions.adapters.aws_clients import CLIENT_CONFIG
from functions.adapters.dynamodb_control import DynamoDbControl
from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import (
    FORBIDDEN,
    OpenSearchError,
    OpenSearchHttp,
    failed,
    refused,
)
from functions.adapters.telemetry import make_logger
from functions.core.control import lost_index
from functions.core.failure import FailureError
from functions.core.ports import InvocationContext
from functions.core.settings import IndexSetupSettings, MetadataType, VectorCompression
from functions.index_setup.ensure import IndexSpec, ensure_index
from functions.index_setup.migration import (
    AliasRefusedError,
    AliasRequest,
    answer,
    guard_searches,
)

logger = make_logger("index_setup")

# A new domain takes a while until it knows its access policy.
RETRY_SECONDS = 10
ANSWER_SECONDS = 20


class Request(BaseModel):
    """The properties of the custom resource; CloudFormation sends numbers as strings."""

    model_config = ConfigDict(extra="ignore")

    Target: str
    Index: str
    Model: str
    Dimensions: int
    Metadata: dict[str, MetadataType] = {}
    Shards: int = 1
    Replicas: int = 0
    Compression: VectorCompression = "none"
    SharedAlias: str | None = None

    @property
    def spec(self) -> IndexSpec:
        return IndexSpec(
            alias=self.Index,
            model=self.Model,
            dimensions=self.Dimensions,
            metadata=self.Metadata,
            shards=self.Shards,
            replicas=self.Replicas,
            compression=self.Compression,
        )


def lambda_handler(event: dict[str, Any], context: InvocationContext) -> dict[str, Any] | None:
    """Create or check the index, and answer CloudFormation; or move a read alias for a command."""
    if "RequestType" not in event:
        return _move(AliasRequest.model_validate(event))
    reason = "done"
    physical_id = event.get("PhysicalResourceId") or event["LogicalResourceId"]
    succeeded = True
    try:
        # A deleted stack leaves the index: vectors that were paid are the user's to delete.
        if event["RequestType"] != "Delete":
            request = Request.model_validate(event["ResourceProperties"])
            physical_id = request.Index
            reason = _ensure(request, context, event.get("OldResourceProperties", {}))
    except Exception as error:
        # Whatever it is, CloudFormation must hear of it, or it waits for an hour.
        logger.exception("index_setup_failed")
        succeeded, reason = False, _words(error)
    _answer(event, physical_id=physical_id, succeeded=succeeded, reason=reason)
    return None


def _move(request: AliasRequest) -> dict[str, Any]:
    """Answer a command; what is refused is an answer too."""
    settings = IndexSetupSettings.from_environment()
    try:
        done = answer(request, _admin(boto3.Session(), settings), settings.indexes)
    except AliasRefusedError as error:
        return refused(OpenSearchError(FORBIDDEN, "not_allowed", str(error)))
    except OpenSearchError as error:
        return refused(error)
    except FailureError as error:
        return failed(error)
    if done["before"] != done["after"]:
        logger.info("read_alias_moved", extra={"read": request.read, **done})
    return {"answer": done}


def _admin(session: boto3.Session, settings: IndexSetupSettings) -> OpenSearchAdmin:
    return OpenSearchAdmin(OpenSearchHttp.of(session, settings.index_endpoint))


def _ensure(request: Request, context: InvocationContext, before: Mapping[str, Any]) -> str:
    session = boto3.Session()
    settings = IndexSetupSettings.from_environment()
    admin = _admin(session, settings)
    dynamodb = session.client("dynamodb", config=CLIENT_CONFIG)
    control = DynamoDbControl(dynamodb, settings.ledger_table)
    while True:
        try:
            done = ensure_index(request.spec, admin)
            was_shared = _former_alias(request, before)
            guard_searches(request.spec, admin, settings.indexes, was_shared)
            _note(request, admin, control)
            return done
        except (FailureError, OpenSearchError) as error:
            left = context.get_remaining_time_in_millis() / 1000
            if not _may_pass(error) or left < RETRY_SECONDS + ANSWER_SECONDS:
                raise
            logger.warning("index_not_ready", extra={"failure": str(error)})
            time.sleep(RETRY_SECONDS)


def _former_alias(request: Request, before: Mapping[str, Any]) -> str | None:
    """Return the alias that the target shared with another one until now; None: nothing changes."""
    was_shared: str | None = before.get("SharedAlias")
    is_as_before = request.SharedAlias == was_shared and request.Index == before.get("Index")
    return None if is_as_before else was_shared


def _note(request: Request, admin: OpenSearchAdmin, control: DynamoDbControl) -> None:
    """Note which index a new target has, or report that it is not the one that was filled.

    That one is noted by the sweep, which also raises the alarm.
    """
    found = admin.uuid(request.Index)
    try:
        known = control.read(request.Target).index_uuid
        if not known and found:
            control.note_index(request.Target, before="", after=found)
    except FailureError as error:
        # The sweep does it in a minute: no reason to refuse a deployment.
        logger.warning("control_unreadable", extra={"failure": str(error)})
        return
    lost = lost_index(request.Index, known=known, found=found)
    if lost is not None:
        logger.error("index_lost", extra={"target": request.Target, "reason": lost})


def _may_pass(error: FailureError | OpenSearchError) -> bool:
    """Tell a domain that is not ready from a request that it will never accept."""
    return isinstance(error, FailureError) or error.status in (401, 403, 404)


def _words(error: Exception) -> str:
    """Say what failed; CloudFormation takes no failure without a reason."""
    if isinstance(error, ValidationError):
        return "; ".join(
            f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg']}"
            for mistake in error.errors(include_url=False)
        )
    return str(error) or type(error).__name__


def _answer(event: dict[str, Any], *, physical_id: str, succeeded: bool, reason: str) -> None:
    body = {
        "Status": "SUCCESS" if succeeded else "FAILED",
        "Reason": reason[:1000],
        "PhysicalResourceId": physical_id,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
    request = urllib.request.Request(
        event["ResponseURL"], data=json.dumps(body).encode(), method="PUT"
    )
    with urllib.request.urlopen(request, timeout=ANSWER_SECONDS):
        logger.info("index_setup_answered", extra={"status": body["Status"]})
