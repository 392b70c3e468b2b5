"""CONTROL -> MAPPINGS: the breaker function, which pauses and brings back lanes each minute."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infrastructure.python_function import PythonFunction
from infrastructure.schedule import Tick, run_every
from infrastructure.stage_config import StageConfig

FOLDER = "breaker"
TICK = Tick("reconcile", minutes=1)
# It waits for the probes that it sends.
TIMEOUT = Duration.seconds(120)
MEMORY_MB = 256
# Two at once would switch the same mappings.
RESERVED_CONCURRENCY = 1


class BreakerFunction(PythonFunction):
    """Keep Lambda from reading lanes whose provider or index is down."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stage: str,
        config: StageConfig,
        code: lambda_.Code,
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(
            scope,
            id_,
            folder=FOLDER,
            stage=stage,
            config=config,
            code=code,
            environment=environment,
            timeout=TIMEOUT,
            memory_mb=MEMORY_MB,
            reserved_concurrency=RESERVED_CONCURRENCY,
            is_ticked=True,
        )
        run_every(self, TICK, self, enabled=config.enabled)
