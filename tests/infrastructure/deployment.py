"""A stage deployed by the real cdk command to a local AWS, for as long as a block runs."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infrastructure.app import pipeline_app
from infrastructure.function_code import PLACEHOLDER
from local.aws_client import CREDENTIALS, REGION, local_client
from scripts.cdk import cdk_command, cdk_environment
from tests.infrastructure.index_endpoint import IndexEndpoint
from tests.infrastructure.synthesized import CONTEXT, ROOT

ACCOUNT = "123456789012"
START_SECONDS = 60
COMMAND_SECONDS = 100


@dataclass(frozen=True)
class Deployed:
    """What a deployment left behind."""

    endpoint_url: str
    outputs: dict[str, str]
    index: IndexEndpoint

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables that point any AWS SDK here."""
        return local_aws(self.endpoint_url)

    def client(self, service: str) -> Any:
        """Return a boto3 client of the local AWS."""
        return local_client(service, self.endpoint_url)

    def function_environment(self, output: str) -> dict[str, str]:
        """Return the variables of a deployed function, named by the output that names it."""
        name = self.outputs[output]
        answer = self.client("lambda").get_function_configuration(FunctionName=name)
        variables: dict[str, str] = answer["Environment"]["Variables"]
        return variables


def local_aws(endpoint_url: str) -> dict[str, str]:
    """Return the variables that point any AWS SDK to an endpoint."""
    return {
        "AWS_ENDPOINT_URL": endpoint_url,
        **CREDENTIALS,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
    }


def stage(*, models_url: str, index_url: str, secret_arn: str) -> dict[str, Any]:
    """Describe the stage: a table of its own, an existing endpoint, a model on this machine."""
    return {
        "sources": {
            "articles": {
                "key": {"id": "S"},
                "text": "{title}\n\n{body}",
                "metadata": {"author": "keyword"},
            }
        },
        "targets": {
            "default": {
                "base_url": models_url,
                "model": "text-embedding-3-small",
                "dimensions": 8,
                "api_key_secret_arn": secret_arn,
            }
        },
        "opensearch": {"endpoint": index_url},
        "removal": "destroy",
        # A test hands records on itself; moto would take messages off the queues on its own.
        "enabled": False,
    }


@contextmanager
def deployed_stage(*, models_url: str, index: IndexEndpoint, folder: Path) -> Iterator[Deployed]:
    """Bootstrap and deploy a stage called test."""
    with _aws_server(folder) as endpoint_url:
        secret = local_client("secretsmanager", endpoint_url).create_secret(
            Name="provider-key", SecretString="any"
        )
        config = stage(models_url=models_url, index_url=index.url, secret_arn=secret["ARN"])
        out = folder / "cdk.out"
        pipeline_app({**CONTEXT, "stages": {"test": config}}, code=PLACEHOLDER, outdir=out).synth()
        _leave_out_dashboards(out / "embedq-test.template.json")
        _cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", folder=folder, endpoint_url=endpoint_url)
        outputs = folder / "outputs.json"
        _cdk(
            "deploy",
            *("--app", str(out), "--all", "--require-approval", "never"),
            # moto keeps no outputs of a stack that was made through a change set.
            *("--method", "direct", "--outputs-file", str(outputs)),
            folder=folder,
            endpoint_url=endpoint_url,
        )
        yield Deployed(endpoint_url, json.loads(outputs.read_text())["embedq-test"], index)


def _leave_out_dashboards(path: Path) -> None:
    """Take away what names alarms by their ARN: moto makes no alarms."""
    template = json.loads(path.read_text())
    template["Resources"] = {
        name: resource
        for name, resource in template["Resources"].items()
        if resource["Type"] != "AWS::CloudWatch::Dashboard"
    }
    path.write_text(json.dumps(template))


def _cdk(*arguments: str, folder: Path, endpoint_url: str) -> None:
    done = subprocess.run(
        cdk_command(*arguments),
        cwd=folder,
        env={**cdk_environment(), **local_aws(endpoint_url)},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    if done.returncode:
        log = (folder / "aws.log").read_text()[-3000:]
        raise RuntimeError(f"cdk {arguments[0]} failed\n{done.stdout}{done.stderr}\n{log}")


@contextmanager
def _aws_server(folder: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Bootstrap and deploy address buckets as <bucket>.localhost, which an IP could not be.
    url = f"http://localhost:{port}"
    with (
        (folder / "aws.log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "tests.infrastructure.aws_server", str(port)],
            cwd=ROOT,
            env={**os.environ, **local_aws(url)},
            stdout=log,
            stderr=log,
        ) as server,
    ):
        try:
            _wait_until_it_answers(url, server)
            yield url
        finally:
            server.terminate()


def _wait_until_it_answers(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(f"{url}/moto-api/data.json", timeout=5).close()
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise RuntimeError(f"the local AWS ended with {server.wait(timeout=0.1)}")
    raise RuntimeError(f"no answer from {url} in {START_SECONDS} s")
