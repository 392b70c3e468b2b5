"""CloudFormation's answers about the one stack that runs here; nothing is made through it."""

from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from local.endpoint.messages import Request
from local.endpoint.protocols import AwsError, result
from local.specs import StackSpec

KNOWN = "describe-stacks, list-stacks, list-stack-resources and describe-stack-resources"
STATUS = "CREATE_COMPLETE"


class Stacks:
    """Describes the running stack, with the resources that are there on this machine."""

    def __init__(self, *, region: str, account: str) -> None:
        self._arn_start = f"arn:aws:cloudformation:{region}:{account}:stack/"
        self._described: dict[str, Any] = {}
        self._resources: list[dict[str, str]] = []

    def serve(self, stack: StackSpec) -> None:
        """Describe this stack from now on."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._described = {
            "StackId": f"{self._arn_start}{stack.name}/{stack.name}",
            "StackName": stack.name,
            "CreationTime": now,
            "StackStatus": STATUS,
            "Outputs": [
                {"OutputKey": key, "OutputValue": value} for key, value in stack.outputs.items()
            ],
        }
        self._resources = [
            {
                "LogicalResourceId": one.logical_id,
                "PhysicalResourceId": one.physical_id,
                "ResourceType": one.kind,
                "ResourceStatus": STATUS,
                "LastUpdatedTimestamp": now,
            }
            for one in stack.resources
        ]

    def answer(self, request: Request) -> Response:
        """Answer a call that asks; refuse one that would change something."""
        match request.action:
            case "DescribeStacks":
                wanted = request.form.get("StackName", "")
                return result(
                    request, {"Stacks": [self._stack(wanted)] if self._has(wanted) else []}
                )
            case "ListStacks":
                summary = {key: self._described[key] for key in self._described if key != "Outputs"}
                return result(request, {"StackSummaries": [summary] if summary else []})
            case "ListStackResources":
                self._stack(request.form.get("StackName", ""))
                return result(request, {"StackResourceSummaries": self._resources})
            case "DescribeStackResources":
                return result(request, {"StackResources": self._described_resources(request)})
        raise AwsError(
            "NotRunHere",
            f"on one machine CloudFormation answers {KNOWN} only: `embedq up` makes the stack",
        )

    def _described_resources(self, request: Request) -> list[dict[str, str]]:
        stack = self._stack(request.form.get("StackName", ""))
        wanted = request.form.get("LogicalResourceId")
        names = {key: stack[key] for key in ("StackId", "StackName")}
        return [
            {**names, "Timestamp": one["LastUpdatedTimestamp"]}
            | {key: value for key, value in one.items() if key != "LastUpdatedTimestamp"}
            for one in self._resources
            if wanted in (None, one["LogicalResourceId"])
        ]

    def _has(self, wanted: str) -> bool:
        return bool(wanted or self._described)

    def _stack(self, wanted: str) -> dict[str, Any]:
        stack = self._described
        if not stack or wanted not in ("", stack["StackName"], stack["StackId"]):
            raise AwsError("ValidationError", f"Stack with id {wanted} does not exist")
        return stack
