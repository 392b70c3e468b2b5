"""The VPC of a stage: how functions join it, and what they reach in it without leaving it."""

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infrastructure.config.stage import StageConfig
from infrastructure.config.vpc import VpcConfig

HTTPS = 443
# https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AWSLambdaVPCAccessExecutionRole.html
JOIN_NETWORK = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
# Only Lambda itself joins the network: calls of a function's code carry this key.
# https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html
_NOT_FROM_CODE = {"Null": {"lambda:SourceFunctionArn": "true"}}


def join_network(function: lambda_.Function, role: iam.Role, vpc: VpcConfig) -> None:
    """Put a function into the subnets, behind the security groups."""
    role.add_to_policy(
        iam.PolicyStatement(
            # Lambda has no network interface to name before it makes one.
            actions=list(JOIN_NETWORK),
            resources=["*"],
            conditions=_NOT_FROM_CODE,
        )
    )
    # The low-level property takes ids as they are; the construct above it looks the subnets up.
    resource = function.node.default_child
    if isinstance(resource, lambda_.CfnFunction):
        resource.vpc_config = lambda_.CfnFunction.VpcConfigProperty(
            subnet_ids=list(vpc.subnets), security_group_ids=list(vpc.security_groups)
        )


class Network(Construct):
    """Open the domain and the endpoints that the stack makes to the functions, and to no other."""

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig, vpc: VpcConfig) -> None:
        super().__init__(scope, id_)
        self._vpc = vpc
        self.group = ec2.CfnSecurityGroup(
            self,
            "Access",
            group_description="What the functions of embedq may call",
            vpc_id=vpc.id,
            security_group_ingress=[
                ec2.CfnSecurityGroup.IngressProperty(
                    ip_protocol="tcp",
                    from_port=HTTPS,
                    to_port=HTTPS,
                    source_security_group_id=group,
                    description="HTTPS from the functions",
                )
                for group in vpc.security_groups
            ],
            # What is called calls no one. Without a rule EC2 would allow every address.
            security_group_egress=[
                ec2.CfnSecurityGroup.EgressProperty(
                    ip_protocol="-1", cidr_ip="127.0.0.1/32", description="Nothing"
                )
            ],
        )
        if vpc.endpoints == "make":
            self._make_endpoints(config)

    def _make_endpoints(self, config: StageConfig) -> None:
        """Make one endpoint for each AWS service that a function calls.

        Lambda itself writes logs and traces and reads streams and queues, outside the VPC.
        """
        gateway, interface = ec2.GatewayVpcEndpointAwsService, ec2.InterfaceVpcEndpointAwsService
        for name, routed in {"DynamoDb": gateway.DYNAMODB, "S3": gateway.S3}.items():
            ec2.CfnVPCEndpoint(
                self,
                name,
                service_name=routed.name,
                vpc_id=self._vpc.id,
                vpc_endpoint_type="Gateway",
                route_table_ids=list(self._vpc.route_tables),
            )
        called = {
            "Sqs": interface.SQS,
            "Lambda": interface.LAMBDA_,  # breaker switches mappings and sends probes
        }
        targets = config.targets.values()
        if any(target.has_api_key for target in targets):
            called["SecretsManager"] = interface.SECRETS_MANAGER  # embed reads the provider's key
        if any(target.provider == "bedrock" and target.region is None for target in targets):
            called["BedrockRuntime"] = interface.BEDROCK_RUNTIME
        if config.completion_events:
            called["EventBridge"] = interface.EVENTBRIDGE
        for name, service in called.items():
            ec2.CfnVPCEndpoint(
                self,
                name,
                service_name=service.name,
                vpc_id=self._vpc.id,
                vpc_endpoint_type="Interface",
                subnet_ids=list(self._vpc.subnets),
                security_group_ids=[self.group.attr_group_id],
                private_dns_enabled=True,
            )


def network_of(scope: Construct, id_: str, config: StageConfig) -> Network | None:
    """Make the part of a stage's network that the stack owns, if there is one."""
    vpc = config.vpc
    if vpc is None or (config.opensearch.domain is None and vpc.endpoints == "exist"):
        return None
    return Network(scope, id_, config=config, vpc=vpc)
