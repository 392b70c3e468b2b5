"""AWS::Lambda::Function -> what runs as a process here."""

from collections.abc import Mapping
from typing import Any

from local.specs import FunctionSpec
from local.template.intrinsics import TemplateError

# What Lambda takes where the template says nothing:
# https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html
_TIMEOUT_SECONDS = 3
_MEMORY_MB = 128


def function_spec(name: str, logical_id: str, properties: Mapping[str, Any]) -> FunctionSpec:
    """Read a function; its handler says which folder it runs."""
    handler = properties["Handler"]
    package, _, rest = handler.partition(".")
    if package != "functions" or "." not in rest:
        raise TemplateError(f"{logical_id}: handler {handler} is not functions.<folder>.<...>")
    variables = properties.get("Environment", {}).get("Variables", {})
    reserved = properties.get("ReservedConcurrentExecutions")
    return FunctionSpec(
        name=name,
        logical_id=logical_id,
        folder=rest.partition(".")[0],
        handler=handler,
        environment={key: str(value) for key, value in variables.items()},
        timeout_seconds=int(properties.get("Timeout", _TIMEOUT_SECONDS)),
        memory_mb=int(properties.get("MemorySize", _MEMORY_MB)),
        reserved_concurrency=None if reserved is None else int(reserved),
    )
