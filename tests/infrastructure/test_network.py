"""A stage inside a VPC: functions and domain in its subnets, and AWS reached through endpoints."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from infrastructure.app import pipeline_app
from infrastructure.config.mistakes import ConfigError
from infrastructure.config.parser import parse_stages
from infrastructure.function_code import PLACEHOLDER
from infrastructure.network import JOIN_NETWORK
from tests.infrastructure.stages import mistakes, stage_with
from tests.infrastructure.synthesized import CONTEXT, Synthesized, text

STAGE: dict[str, Any] = CONTEXT["stages"]["private"]
VPC: dict[str, Any] = STAGE["vpc"]
EXISTING = {key: value for key, value in {**VPC, "endpoints": "exist"}.items() if key[0] != "r"}
ENDPOINT = "https://vpc-mine-abc123.eu-west-1.es.amazonaws.com"
ARN = "arn:aws:es:eu-west-1:123456789012:domain/mine"
KIND = "AWS::EC2::VPCEndpoint"
GROUP = "AWS::EC2::SecurityGroup"


@pytest.fixture
def private(synthesize: Callable[[str], Synthesized]) -> Synthesized:
    """Return the stage that is inside a VPC."""
    return synthesize("private")


def resources(stage: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the properties of a kind of resource in the template of a stage."""
    app = pipeline_app({**CONTEXT, "stages": {"mine": stage}}, code=PLACEHOLDER)
    [stack] = app.synth().stacks
    found = stack.template["Resources"].values()
    return [text(one.get("Properties", {})) for one in found if one["Type"] == kind]


def test_every_function_is_in_the_given_subnets_and_security_groups(
    private: Synthesized,
) -> None:
    """R84: none is left outside, the one of the deployment included."""
    functions = private.properties("AWS::Lambda::Function")

    assert functions
    for function in functions:
        assert function["VpcConfig"] == {
            "SubnetIds": VPC["subnets"],
            "SecurityGroupIds": VPC["security_groups"],
        }


def test_only_lambda_itself_may_make_network_interfaces(private: Synthesized) -> None:
    """R84: one statement for each function, which calls of its code do not get."""
    found = [
        statement
        for policy in private.properties("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if "ec2:CreateNetworkInterface" in statement["Action"]
    ]

    assert len(found) == len(private.resources("AWS::Lambda::Function"))
    for statement in found:
        assert tuple(statement["Action"]) == JOIN_NETWORK
        assert statement["Condition"] == {"Null": {"lambda:SourceFunctionArn": "true"}}


def test_domain_has_one_subnet_for_each_zone_and_admits_the_functions_only(
    private: Synthesized,
) -> None:
    """R84: HTTPS from the functions' security groups, and no access policy."""
    [domain] = private.properties("AWS::OpenSearchService::Domain")
    [(name, group)] = private.resources(GROUP).items()

    zones = domain["ClusterConfig"]["ZoneAwarenessConfig"]["AvailabilityZoneCount"]
    assert domain["VPCOptions"] == {
        "SubnetIds": VPC["subnets"][:zones],
        "SecurityGroupIds": [f"{name}.GroupId"],
    }
    assert "AccessPolicies" not in domain
    [rule] = group["Properties"]["SecurityGroupIngress"]
    assert (rule["FromPort"], rule["ToPort"]) == (443, 443)
    assert [rule["SourceSecurityGroupId"]] == VPC["security_groups"]
    assert group["Properties"]["VpcId"] == VPC["id"]


def test_each_service_that_a_function_calls_has_an_endpoint(private: Synthesized) -> None:
    """R84: through routes or with private names, open to the functions only."""
    [group] = private.resources(GROUP)
    found = {one["ServiceName"].rpartition(".")[2]: one for one in private.properties(KIND)}
    # What the functions' policies name; logs, traces and keys are used by AWS for them.
    called = {
        action.partition(":")[0]
        for policy in private.properties("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        for action in (
            [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]
        )
    } - {"ec2", "es", "kms", "logs", "xray"}

    assert found.keys() == called
    for service in ("dynamodb", "s3"):
        assert found[service]["VpcEndpointType"] == "Gateway"
        assert found[service]["RouteTableIds"] == VPC["route_tables"]
    for service in found.keys() - {"dynamodb", "s3"}:
        assert found[service]["VpcEndpointType"] == "Interface"
        assert found[service]["SubnetIds"] == VPC["subnets"]
        assert found[service]["SecurityGroupIds"] == [f"{group}.GroupId"]
        assert found[service]["PrivateDnsEnabled"] is True


def test_index_is_made_after_the_endpoints_and_removed_before_them(private: Synthesized) -> None:
    """R01: its function answers CloudFormation through S3."""
    [index] = private.resources("Custom::EmbedqIndex").values()

    assert set(private.resources(KIND)) <= set(index["DependsOn"])


def test_endpoints_that_exist_are_not_made() -> None:
    """R01: the domain still gets its security group."""
    stage = {**STAGE, "vpc": EXISTING}

    assert resources(stage, KIND) == []
    assert len(resources(stage, GROUP)) == 1


def test_existing_domain_in_an_existing_network_needs_nothing_new() -> None:
    """R01: functions join; domain, endpoints and their security groups are the user's."""
    stage = {
        **STAGE,
        "vpc": EXISTING,
        "opensearch": {"endpoint": ENDPOINT, "domain_arn": ARN},
    }

    assert resources(stage, KIND) == resources(stage, GROUP) == []
    assert all("VpcConfig" in one for one in resources(stage, "AWS::Lambda::Function"))


def test_stage_without_a_vpc_has_none_of_it(synthesize: Callable[[str], Synthesized]) -> None:
    """R01: prod is public, and only signed requests get in."""
    prod = synthesize("prod")

    assert prod.resources(KIND) == prod.resources(GROUP) == {}
    assert all("VpcConfig" not in one for one in prod.properties("AWS::Lambda::Function"))
    [domain] = prod.properties("AWS::OpenSearchService::Domain")
    assert "VPCOptions" not in domain


def test_two_stages_do_not_make_the_same_endpoints() -> None:
    """R01: a VPC takes one of each service."""
    with pytest.raises(ConfigError) as caught:
        parse_stages({"one": STAGE, "two": copy.deepcopy(STAGE)})

    assert str(caught.value) == (
        f"cdk.json: stages.two.vpc.endpoints: stage one makes those of {VPC['id']}:"
        " exist, and no route_tables"
    )


def test_domain_inside_a_vpc_needs_functions_inside_it() -> None:
    """R01: said at synth, not by timeouts."""
    stage = stage_with((("opensearch",), {"endpoint": ENDPOINT, "domain_arn": ARN}))

    assert mistakes(stage) == [
        "cdk.json: stages.dev.opensearch.endpoint: is inside a VPC, where functions of a stage"
        " without vpc cannot reach it: add vpc to the stage: that of the domain"
    ]
