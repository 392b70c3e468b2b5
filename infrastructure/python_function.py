"""One Lambda function of ours: arm64, traced, with a log group and a role of its own."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infrastructure.acknowledgments import acknowledge
from infrastructure.function_environment import telemetry_environment
from infrastructure.removal import removal_policy, set_retention
from infrastructure.stage_config import StageConfig

# A tick that waited longer is late for its minute, and Lambda keeps no younger age.
TICK_AGE = Duration.minutes(1)


class PythonFunction(Construct):
    """Run functions/<folder>/handler.py."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        folder: str,
        stage: str,
        config: StageConfig,
        code: lambda_.Code,
        environment: Mapping[str, str],
        timeout: Duration,
        memory_mb: int,
        reserved_concurrency: int | None = None,
        recursive_loop: lambda_.RecursiveLoop = lambda_.RecursiveLoop.TERMINATE,
        is_ticked: bool = False,
    ) -> None:
        super().__init__(scope, id_)
        logs_ = logs.LogGroup(self, "Logs", removal_policy=removal_policy(config))
        set_retention(logs_, config)
        # A role of its own: the default one brings AWSLambdaBasicExecutionRole, which may write
        # to every log group of the account.
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        logs_.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            handler=f"functions.{folder}.handler.lambda_handler",
            code=code,
            role=self.role,
            environment={
                **environment,
                **telemetry_environment(function=folder, stage=stage, log_level=config.log_level),
            },
            timeout=timeout,
            memory_size=memory_mb,
            reserved_concurrent_executions=reserved_concurrency,
            recursive_loop=recursive_loop,
            # What a tick left undone, the next one does: Lambda need not retry or keep it.
            retry_attempts=0 if is_ticked else None,
            max_event_age=TICK_AGE if is_ticked else None,
            tracing=lambda_.Tracing.ACTIVE,
            log_group=logs_,
        )
        # cfn-lint W3005, redundant DependsOn: the CDK makes a function wait for its role's policy
        # by naming role and policy together, and the role is referred to anyway.
        resource = self.function.node.default_child
        if isinstance(resource, lambda_.CfnFunction):
            resource.add_metadata("cfn-lint", {"config": {"ignore_checks": ["W3005"]}})
        acknowledge(self, "L1", "The zips' wheels are built for python3.13.")
        acknowledge(
            self,
            "IAM5[Resource::*]",
            "X-Ray's PutTraceSegments and PutTelemetryRecords take no resource.",
        )
