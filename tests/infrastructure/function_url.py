"""AWS::Lambda::Url in moto's CloudFormation.

A module of its own, as moto reads the name of the module, which the server's own has not.
"""

from typing import Any

from moto.core.common_models import CloudFormationModel


class FunctionUrl(CloudFormationModel):
    """The URL of a function, which moto makes by its API alone; found by moto as a subclass."""

    def __init__(self, function: str) -> None:
        self.physical_resource_id = function

    @staticmethod
    def cloudformation_name_type() -> str:
        return ""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::Lambda::Url"

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        return attr in ("FunctionArn", "FunctionUrl")

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,  # noqa: ARG003  (moto's signature)
        cloudformation_json: dict[str, Any],
        account_id: str,  # noqa: ARG003
        region_name: str,  # noqa: ARG003
        **_: Any,
    ) -> "FunctionUrl":
        return cls(cloudformation_json["Properties"]["TargetFunctionArn"])

    def get_cfn_attribute(self, attribute_name: str) -> str:
        url = "https://search.lambda-url.invalid/"
        return url if attribute_name == "FunctionUrl" else self.physical_resource_id
