"""DEPLOY -> INDEX: a CloudFormation custom resource. A misfit fails the deployment, in words."""

import json
import time
import urllib.request
from typing import Any

import boto3
from pydantic import BaseModel, ConfigDict, ValidationError

from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchError, OpenSearchHttp
from functions.adapters.telemetry import make_logger
from functions.core.failure import FailureError
from functions.core.ports import InvocationContext
from functions.core.settings import IndexSetupSettings, MetadataType
from functions.index_setup.ensure import IndexSpec, ensure_index

logger = make_logger("index_setup")

# A new domain takes a while until it knows its access policy.
RETRY_SECONDS = 10
ANSWER_SECONDS = 20


class Request(BaseModel):
    """The properties of the custom resource; CloudFormation sends numbers as strings."""

    model_config = ConfigDict(extra="ignore")

    Index: str
    Model: str
    Dimensions: int
    Metadata: dict[str, MetadataType] = {}
    Shards: int = 1
    Replicas: int = 0

    @property
    def spec(self) -> IndexSpec:
        return IndexSpec(
            alias=self.Index,
            model=self.Model,
            dimensions=self.Dimensions,
            metadata=self.Metadata,
            shards=self.Shards,
            replicas=self.Replicas,
        )


def lambda_handler(event: dict[str, Any], context: InvocationContext) -> None:
    """Create or check the index, and answer CloudFormation."""
    reason = "done"
    physical_id = event.get("PhysicalResourceId") or event["LogicalResourceId"]
    succeeded = True
    try:
        # A deleted stack leaves the index: vectors that were paid are the user's to delete.
        if event["RequestType"] != "Delete":
            spec = Request.model_validate(event["ResourceProperties"]).spec
            physical_id = spec.alias
            reason = _ensure(spec, context)
    except Exception as error:
        # Whatever it is, CloudFormation must hear of it, or it waits for an hour.
        logger.exception("index_setup_failed")
        succeeded, reason = False, _words(error)
    _answer(event, physical_id=physical_id, succeeded=succeeded, reason=reason)


def _ensure(spec: IndexSpec, context: InvocationContext) -> str:
    session = boto3.Session()
    http = OpenSearchHttp.of(session, IndexSetupSettings.from_environment().index_endpoint)
    while True:
        try:
            return ensure_index(spec, OpenSearchAdmin(http))
        except (FailureError, OpenSearchError) as error:
            left = context.get_remaining_time_in_millis() / 1000
            if not _may_pass(error) or left < RETRY_SECONDS + ANSWER_SECONDS:
                raise
            logger.warning("index_not_ready", extra={"failure": str(error)})
            time.sleep(RETRY_SECONDS)


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
