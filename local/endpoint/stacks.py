"""CloudFormation's DescribeStacks for the stack that runs here; moto knows no stack of ours."""

from datetime import UTC, datetime
from typing import Any

from local.endpoint.messages import Answer, Request
from local.endpoint.protocols import AwsError, result
from local.endpoint.routing import CLOUDFORMATION
from local.specs import StackSpec


class Stacks:
    """Tells the outputs of the running stack."""

    def __init__(self, *, region: str, account: str) -> None:
        """Begin without a stack."""
        self._arn_start = f"arn:aws:cloudformation:{region}:{account}:stack/"
        self._stack: StackSpec | None = None
        self._made = ""

    def serve(self, stack: StackSpec) -> None:
        """Tell of this stack from now on."""
        self._stack = stack
        self._made = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def answer(self, request: Request) -> Answer:
        """Answer DescribeStacks."""
        wanted = request.form.get("StackName", "")
        stack = self._stack
        if stack is None or wanted not in ("", stack.name, self._id(stack)):
            if wanted:
                raise AwsError("ValidationError", f"Stack with id {wanted} does not exist")
            return result(request, CLOUDFORMATION, {"Stacks": []})
        return result(request, CLOUDFORMATION, {"Stacks": [self._described(stack)]})

    def _id(self, stack: StackSpec) -> str:
        return f"{self._arn_start}{stack.name}/{stack.name}"

    def _described(self, stack: StackSpec) -> dict[str, Any]:
        return {
            "StackId": self._id(stack),
            "StackName": stack.name,
            "CreationTime": self._made,
            "StackStatus": "CREATE_COMPLETE",
            "Outputs": [
                {"OutputKey": key, "OutputValue": value} for key, value in stack.outputs.items()
            ],
        }
