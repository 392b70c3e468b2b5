"""The functions of the stack as Lambda lists and describes them."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from local.aws_client import local_arn
from local.endpoint.messages import LAMBDA, Request
from local.endpoint.protocols import AwsError
from local.specs import FunctionSpec

FUNCTIONS = f"{LAMBDA.path}functions"


class FunctionList:
    """Answers ListFunctions, GetFunction and GetFunctionConfiguration."""

    functions: Sequence[FunctionSpec] = ()

    def __init__(self) -> None:
        self._since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000+0000")

    def knows(self, request: Request) -> bool:
        """Return True for these three calls."""
        return request.method == "GET" and self._words(request) is not None

    def answer(self, request: Request) -> dict[str, Any]:
        """Answer one of them."""
        words = self._words(request)
        if not words:
            listed = sorted(self.functions, key=lambda one: one.name)
            return {"Functions": [self._described(one) for one in listed]}
        name = words[0].rpartition("function:")[2].partition(":")[0]
        found = [one for one in self.functions if one.name == name]
        if not found:
            message = f"Function not found: {words[0]}"
            raise AwsError("ResourceNotFoundException", message, status=404)
        described = self._described(found[0])
        if words[1:]:
            return described
        reserved = found[0].reserved_concurrency
        concurrency = {} if reserved is None else {"ReservedConcurrentExecutions": reserved}
        return {"Configuration": described, "Concurrency": concurrency}

    def _words(self, request: Request) -> list[str] | None:
        """Return what follows `functions` in the path; None for another call."""
        if not f"{request.path}/".startswith(f"{FUNCTIONS}/"):
            return None
        words = request.path.removeprefix(FUNCTIONS).strip("/").split("/")
        if words in ([""], [words[0]], [words[0], "configuration"]):
            return [word for word in words if word]
        return None

    def _described(self, function: FunctionSpec) -> dict[str, Any]:
        return {
            "FunctionName": function.name,
            "FunctionArn": local_arn("lambda", f"function:{function.name}"),
            # The one that runs it here.
            "Runtime": f"python{sys.version_info.major}.{sys.version_info.minor}",
            "Handler": function.handler,
            "Timeout": function.timeout_seconds,
            "MemorySize": function.memory_mb,
            "LastModified": self._since,
            "Version": "$LATEST",
            "PackageType": "Zip",
            "State": "Active",
            "LastUpdateStatus": "Successful",
            "Environment": {"Variables": dict(function.environment)},
            "LoggingConfig": {"LogFormat": "Text", "LogGroup": function.log_group},
        }
