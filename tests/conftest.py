"""For every test: no connection beyond this machine, made-up credentials, and its worker."""

import os
from functools import cache
from pathlib import Path

import botocore.session

from tests.this_machine.sitecustomize import refuse_others
from tests.workers import (
    pytest_collection_modifyitems,
    pytest_xdist_auto_num_workers,
    pytest_xdist_make_scheduler,
)

__all__ = [
    "pytest_collection_modifyitems",
    "pytest_xdist_auto_num_workers",
    "pytest_xdist_make_scheduler",
]

# Nothing listens there: https://www.rfc-editor.org/rfc/rfc6335#section-6
CLOSED_PORT = "http://127.0.0.1:1"
HERE = "localhost,.localhost,127.0.0.1,::1"
# Programs that are not Python, such as the cdk command, heed the proxy.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "PYTHONPATH": str(Path(__file__).parent / "this_machine"),
    # Wheels come from the cache that `make setup` and `make test` have filled.
    "UV_OFFLINE": "true",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), CLOSED_PORT),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), HERE),
}
PRIVATE = ("AWS_", "OPENAI_", "AZURE_")


def pytest_configure() -> None:
    """Close the way out before any test module is imported."""
    for name in [name for name in os.environ if name.startswith(PRIVATE)]:
        del os.environ[name]
    os.environ.update(ENVIRONMENT)
    refuse_others()
    # Each new session reads the descriptions of its services again: seven clients in 30 ms of the
    # processor instead of 200.
    botocore.session.create_loader = cache(botocore.session.create_loader)
