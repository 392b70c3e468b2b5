"""Event source mappings, on and off; and embed, asked directly for a probe."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from functions.adapters.store_errors import store_failures
from functions.core.failure import Part

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

# A probe is sent once, and its answer takes as long as the provider does.
PROBE_CONFIG = Config(connect_timeout=2, read_timeout=45, retries={"total_max_attempts": 1})


class LambdaMappings:
    """Reads and changes what AWS calls the state of a mapping."""

    def __init__(self, client: "LambdaClient") -> None:
        self._client = client

    def state(self, mapping: str) -> str:
        with store_failures(f"reading event source mapping {mapping}"):
            return self._client.get_event_source_mapping(UUID=mapping)["State"]

    def switch(self, mapping: str, *, enabled: bool) -> bool:
        errors = self._client.exceptions
        with store_failures(f"switching event source mapping {mapping}"):
            try:
                self._client.update_event_source_mapping(UUID=mapping, Enabled=enabled)
            except (errors.ResourceInUseException, errors.ResourceConflictException):
                # AWS still applies the last change: the next minute will do.
                return False
        return True


class LambdaProber:
    """Lets an embed function try its provider and its index, past the queues."""

    def __init__(self, client: "LambdaClient") -> None:
        """The client is one with PROBE_CONFIG."""
        self._client = client

    def probe(self, function: str, parts: Sequence[Part]) -> dict[Part, str | None] | None:
        try:
            answer = self._client.invoke(
                FunctionName=function, Payload=json.dumps({"probe": list(map(str, parts))})
            )
            body = json.loads(answer["Payload"].read())
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code == "TooManyRequestsException":
                return None
            return _all(parts, f"the probe was not taken: {code}")
        except (BotoCoreError, ValueError) as error:
            return _all(parts, f"the probe got no answer: {type(error).__name__}")
        if "FunctionError" in answer:
            kind = body.get("errorType", "") if isinstance(body, dict) else ""
            return _all(parts, f"the probe ended in an error: {kind or answer['FunctionError']}")
        return {part: _failure_of(body, part) for part in parts}


def _failure_of(body: Any, part: Part) -> str | None:
    if not isinstance(body, dict) or part not in body:
        return "the probe's answer cannot be read"
    return None if body[part] is None else str(body[part])


def _all(parts: Sequence[Part], failure: str) -> dict[Part, str | None]:
    return dict.fromkeys(parts, failure)
