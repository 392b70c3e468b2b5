"""Where the runner finds the world: engines, the one AWS endpoint, account, code and its folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.aws_client import local_client

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class RunnerPlace:
    """Everything around the functions and mappings of one stack."""

    folder: Path  # logs, checkpoints and switches live here
    sqs_url: str
    dynamodb_url: str  # streams too
    aws_url: str  # what functions get as AWS_ENDPOINT_URL; S3 for what failed
    code_root: Path | None = None  # build/local; None runs the checkout
    bytecode: Path | None = None  # where compiled modules are kept; None: in the folder

    def client(self, service: Any, url: str, *, connections: int = 10) -> Any:
        """Make a client that gives up early: the caller's backoff does the waiting."""
        return local_client(
            service,
            url,
            connect_timeout=2,
            read_timeout=30,
            max_pool_connections=connections,
            retries={"total_max_attempts": 1},
        )

    def log(self, function: str) -> Path:
        """Return the file that takes what a function prints."""
        return self.folder / "logs" / f"{function}.log"
