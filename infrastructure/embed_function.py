"""QUEUE -> INDEX: the embed function of one target, and how Lambda reads each lane for it."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct, IDependable

from infrastructure.lanes import Lanes
from infrastructure.python_function import PythonFunction
from infrastructure.resource_names import pascal
from infrastructure.stage_config import StageConfig

FOLDER = "embed"


class EmbedFunction(PythonFunction):
    """Work the tasks of one target."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stage: str,
        config: StageConfig,
        target_name: str,
        code: lambda_.Code,
        environment: Mapping[str, str],
    ) -> None:
        self._target = config.targets[target_name]
        self._enabled = config.enabled
        super().__init__(
            scope,
            id_,
            folder=FOLDER,
            stage=stage,
            config=config,
            code=code,
            environment=environment,
            timeout=Duration.seconds(self._target.timeout_seconds),
            memory_mb=self._target.memory_mb,
            reserved_concurrency=config.reserve_of(target_name),
            # Embed sends tasks to lanes that it reads itself (a deleted document that is back
            # again). Lambda would take that for a runaway loop and stop it after 16 rounds:
            # https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
        )
        self.mappings: dict[str, lambda_.EventSourceMapping] = {}

    def read(self, lanes: Lanes, *, after: IDependable) -> None:
        """Let Lambda read every lane, once the index is there to be written."""
        for name, queue in lanes.queues.items():
            lane = lanes.lane_of[name]
            batch_size, window_seconds = self._target.batch_of(lane)
            mapping = lambda_.EventSourceMapping(
                self,
                pascal(name, "mapping"),
                target=self.function,
                event_source_arn=queue.queue_arn,
                enabled=self._enabled,
                batch_size=batch_size,
                max_batching_window=Duration.seconds(window_seconds) if window_seconds else None,
                max_concurrency=self._target.concurrency.of(lane),
                report_batch_item_failures=True,
            )
            mapping.node.add_dependency(after)
            self.mappings[name] = mapping
