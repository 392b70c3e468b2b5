"""LEDGER -> QUEUE: the sweep function, each minute for what is due, every 15 for the rest."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infrastructure.python_function import PythonFunction
from infrastructure.schedule import Tick, run_every
from infrastructure.stage_config import StageConfig

FOLDER = "sweep"
TICKS = (Tick("due", minutes=1), Tick("maintenance", minutes=15))
TIMEOUT = Duration.seconds(240)
MEMORY_MB = 512
# A run of due that outlasts its minute, the next one, and a place for the rest. A tick that finds
# all taken is dropped: whoever runs is doing its work, and two that overlap requeue nothing twice.
RESERVED_CONCURRENCY = 3


class SweepFunction(PythonFunction):
    """Bring back what waits, is stuck or heals."""

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
        for tick in TICKS:
            run_every(self, tick, self, enabled=config.enabled)
