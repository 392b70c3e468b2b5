"""AWS on this machine: the region, the account, the credentials, and clients that use them."""

from typing import Any

import boto3
from botocore.config import Config

REGION = "us-east-1"
ACCOUNT = "000000000000"
# The engines ask for credentials and accept any.
KEY = "local"
# For programs that read them from the environment: functions, the aws command.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": KEY}


def local_arn(service: str, resource: str) -> str:
    """Name a resource of this machine's account and region."""
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


def local_session() -> boto3.Session:
    """Return a session with the credentials of this machine."""
    return boto3.Session(region_name=REGION, aws_access_key_id=KEY, aws_secret_access_key=KEY)


def local_client(service: Any, endpoint_url: str | None, **options: Any) -> Any:
    """Make a client of a service at an endpoint; the options are those of botocore's Config."""
    # Path style, as <bucket>.localhost is not known everywhere.
    config = Config(s3={"addressing_style": "path"}, **options)
    return boto3.client(
        service,
        endpoint_url=endpoint_url,
        region_name=REGION,
        aws_access_key_id=KEY,
        aws_secret_access_key=KEY,
        config=config,
    )
