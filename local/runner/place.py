"""Where the runner finds the world: engines, the one AWS endpoint, account, code and its folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

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
    region: str = "us-east-1"
    account: str = "000000000000"

    def client(self, service: Any, url: str, *, connections: int = 10) -> Any:
        """Make a client that gives up early: the caller's backoff does the waiting."""
        return boto3.client(
            service,
            endpoint_url=url,
            region_name=self.region,
            aws_access_key_id="local",
            aws_secret_access_key="local",
            config=Config(
                connect_timeout=2,
                read_timeout=30,
                max_pool_connections=connections,
                retries={"total_max_attempts": 1},
                s3={"addressing_style": "path"},
            ),
        )

    def function_arn(self, name: str) -> str:
        """Return the ARN of a function."""
        return f"arn:aws:lambda:{self.region}:{self.account}:function:{name}"

    def queue_arn(self, name: str) -> str:
        """Return the ARN of a queue."""
        return f"arn:aws:sqs:{self.region}:{self.account}:{name}"

    def stream_arn(self, engine_arn: str) -> str:
        """Return a stream's ARN with our region; DynamoDB Local writes ddblocal there."""
        what = engine_arn.split(":", 5)[5]
        return f"arn:aws:dynamodb:{self.region}:{self.account}:{what}"

    def log(self, function: str) -> Path:
        """Return the file that takes what a function prints."""
        return self.folder / "logs" / f"{function}.log"
