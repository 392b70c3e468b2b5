"""What cdk.json says about a VPC: the network that the functions and a domain made here are in."""

from collections import Counter
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from functions.core.frozen import Frozen
from infrastructure.config.mistakes import ConfigError, Mistake

# Old ids have 8 hexadecimal digits, all since 2018 have 17.
_DIGITS = r"([0-9a-f]{8}|[0-9a-f]{17})$"
VpcId = Annotated[str, StringConstraints(pattern=f"^vpc-{_DIGITS}")]
SubnetId = Annotated[str, StringConstraints(pattern=f"^subnet-{_DIGITS}")]
SecurityGroupId = Annotated[str, StringConstraints(pattern=f"^sg-{_DIGITS}")]
RouteTableId = Annotated[str, StringConstraints(pattern=f"^rtb-{_DIGITS}")]
_LISTS = ("subnets", "security_groups", "route_tables")


class VpcConfig(Frozen):
    """A VPC that exists, by its ids."""

    id: VpcId = Field(description="an id such as vpc-0123456789abcdef0")
    # https://docs.aws.amazon.com/lambda/latest/api/API_VpcConfig.html
    subnets: tuple[SubnetId, ...] = Field(
        min_length=1,
        max_length=16,
        description="1 to 16 ids such as subnet-0123456789abcdef0, each of another zone and with a"
        " route through NAT",
    )
    security_groups: tuple[SecurityGroupId, ...] = Field(
        min_length=1,
        max_length=5,
        description="1 to 5 ids such as sg-0123456789abcdef0, which let the functions call port"
        " 443",
    )
    endpoints: Literal["make", "exist"] = Field(
        description="... (whether the stack makes the endpoints of the AWS services that are"
        " called; exist: the VPC has them, or NAT leads there)"
    )
    route_tables: tuple[RouteTableId, ...] = Field(
        (),
        description="ids such as rtb-0123456789abcdef0: those of the subnets, with endpoints make"
        " only",
    )

    @model_validator(mode="after")
    def _fits(self) -> "VpcConfig":
        mistakes = [
            Mistake((name,), f"names {twice} twice", "each id once")
            for name in _LISTS
            for twice, count in Counter(getattr(self, name)).items()
            if count > 1
        ]
        if self.endpoints == "make" and not self.route_tables:
            # Endpoints of DynamoDB and S3 are routes: without a table nothing leads to them.
            allowed = "the ids of the subnets' route tables, for the endpoints of DynamoDB and S3"
            mistakes.append(Mistake(("route_tables",), "is missing", allowed))
        if self.endpoints == "exist" and self.route_tables:
            wrong = "does not go with endpoints that exist"
            mistakes.append(Mistake(("route_tables",), wrong, "leave it out"))
        if mistakes:
            raise ConfigError(mistakes)
        return self
