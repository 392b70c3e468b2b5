"""One Lambda function of ours: arm64, traced, with a log group, a role and ticks of its own."""

from collections.abc import Mapping

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infrastructure.config.stage import StageConfig
from infrastructure.encryption import let_use, own_key
from infrastructure.environment import telemetry_environment
from infrastructure.function_table import FunctionSpec
from infrastructure.names import role_name
from infrastructure.network import join_network
from infrastructure.removal import removal_policy, set_retention

# A tick that waited longer is late for its minute, and Lambda keeps no younger age.
TICK_AGE = Duration.minutes(1)


class PythonFunction(Construct):
    """Run functions/<folder>/handler.py, also at each of its ticks."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        spec: FunctionSpec,
        stage: str,
        config: StageConfig,
        code: Mapping[str, lambda_.Code],
        environment: Mapping[str, str],
        role: str,
    ) -> None:
        super().__init__(scope, id_)
        self.spec = spec
        key = own_key(self, config)
        logs_ = self.log_group = logs.LogGroup(
            self, "Logs", removal_policy=removal_policy(config), encryption_key=key
        )
        set_retention(logs_, config)
        # A role of its own: the default one brings AWSLambdaBasicExecutionRole, which may write
        # to every log group of the account.
        # A domain that exists has to be told which roles may call it, best before they do.
        is_named = config.opensearch.domain_arn is not None
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            role_name=role_name(stage, role, Stack.of(self).region) if is_named else None,
        )
        logs_.grant_write(self.role)
        if key is not None:
            let_use(self.role, key)
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            handler=f"functions.{spec.folder}.handler.lambda_handler",
            code=code[spec.folder],
            role=self.role,
            environment={
                **environment,
                **telemetry_environment(spec.folder, stage=stage, log_level=config.log_level),
            },
            environment_encryption=key,
            timeout=Duration.seconds(spec.timeout_seconds),
            memory_size=spec.memory_mb,
            reserved_concurrent_executions=spec.reserved_concurrency,
            recursive_loop=lambda_.RecursiveLoop.ALLOW
            if spec.may_feed_itself
            else lambda_.RecursiveLoop.TERMINATE,
            # What a tick left undone, the next one does: Lambda need not retry or keep it.
            retry_attempts=0 if spec.ticks else None,
            max_event_age=TICK_AGE if spec.ticks else None,
            tracing=lambda_.Tracing.ACTIVE,
            log_group=logs_,
        )
        if config.vpc is not None:
            join_network(self.function, self.role, config.vpc)
        self._tick(enabled=config.enabled)

    def _tick(self, *, enabled: bool) -> None:
        """Run the function at a steady rate, with an event that names the job."""
        for tick in self.spec.ticks:
            events.Rule(
                self,
                f"{tick.job.capitalize()}Tick",
                schedule=events.Schedule.rate(Duration.minutes(tick.minutes)),
                enabled=enabled,
                targets=[
                    targets.LambdaFunction(
                        self.function,
                        event=events.RuleTargetInput.from_object({"job": tick.job}),
                        # The next tick does the same: one that was not delivered is not kept.
                        retry_attempts=0,
                        max_event_age=TICK_AGE,
                    )
                ],
            )
