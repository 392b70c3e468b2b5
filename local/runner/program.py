"""How a function's process is run: the real runtime client on the built package or the checkout."""

import contextlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path

from local.aws_client import CREDENTIALS, KEY, REGION
from local.processes import ProcessStartError, Program
from local.runner.place import CHECKOUT, RunnerPlace
from local.specs import FunctionSpec

# All that the runtime client needs; everything else must be in the function's package.
RUNTIME_MODULES = ("awslambdaric", "runtime_client", "simplejson", "snapshot_restore_py")
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


class CodeMissingError(ProcessStartError):
    """A function's package has not been built."""


def make_program(function: FunctionSpec, place: RunnerPlace, address: str) -> Program:
    """Return the program of one process, which takes its events from the API at the address."""
    code = code_folder(function, place)
    own = {
        "AWS_LAMBDA_RUNTIME_API": address,
        "LAMBDA_TASK_ROOT": str(code),
        "_HANDLER": function.handler,
        "PYTHONPYCACHEPREFIX": str(place.bytecode or place.folder / "bytecode"),
        # A killed process must not take its last lines along.
        "PYTHONUNBUFFERED": "1",
    }
    flags: tuple[str, ...] = ()
    if place.code_root:
        # Without site: a package that the zip lacks must be missing here too.
        flags = ("-S",)
        own["PYTHONPATH"] = str(runtime_folder(place.folder))
    return Program(
        command=(sys.executable, *flags, "-m", "awslambdaric", function.handler),
        folder=code,  # first on the import path, as /var/task is
        environment={**function.environment, **_lambda_environment(function, place), **own},
        log=place.log(function.name),
    )


def code_folder(function: FunctionSpec, place: RunnerPlace) -> Path:
    """Return the folder that is /var/task in Lambda."""
    if not place.code_root:
        return CHECKOUT
    folder = place.code_root.resolve() / function.folder
    if not folder.is_dir():
        raise CodeMissingError(
            f"the package of {function.name} is missing: {function.folder} in {place.code_root}."
            " Build it first."
        )
    return folder


def runtime_folder(folder: Path) -> Path:
    """Return a folder that holds the runtime client alone, as /var/runtime does."""
    runtime = folder / "runtime"
    runtime.mkdir(parents=True, exist_ok=True)
    for name in RUNTIME_MODULES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise CodeMissingError(f"the package {name} is not installed; run make setup")
        found = Path(spec.origin)
        found = found.parent if found.name == "__init__.py" else found
        link = runtime / found.name
        if not link.exists():
            link.unlink(missing_ok=True)
            with contextlib.suppress(FileExistsError):
                link.symlink_to(found)
    return runtime


def _lambda_environment(function: FunctionSpec, place: RunnerPlace) -> Mapping[str, str]:
    """Return what Lambda itself sets, and what keeps the SDK on this machine.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
    """
    return {
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": function.name,
        # One JSON object a line also for errors that the runtime client prints.
        "AWS_LAMBDA_LOG_FORMAT": "JSON",
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{PYTHON}",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        **CREDENTIALS,
        "AWS_SESSION_TOKEN": KEY,
        "AWS_ENDPOINT_URL": place.aws_url,
        # To the engines directly: the endpoint would only pass these requests on.
        "AWS_ENDPOINT_URL_DYNAMODB": place.dynamodb_url,
        "AWS_ENDPOINT_URL_SQS": place.sqs_url,
        # Neither the user's own AWS settings nor a cloud machine's may reach a function.
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
    }
