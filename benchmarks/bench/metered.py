"""A function in a process of its own, with its calls to AWS and to the index counted.

A program: it takes events as lines on its standard input, and answers each with what it counted.
What the function prints goes to a file. DynamoDB says itself how many units it bills; SQS,
EventBridge and OpenSearch bill calls.
"""

import importlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import botocore.handlers

from benchmarks.statements import with_units
from functions.adapters.opensearch_http import OpenSearchHttp
from local.runner.place import RunnerPlace
from local.runner.program import make_program
from local.specs import FunctionSpec

RUN_SECONDS = 120.0
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchExecuteStatement")


class Counts:
    """What one function has asked for."""

    def __init__(self) -> None:
        """Be there before the first client: each takes the handlers that it finds."""
        self.found: Counter[str] = Counter()
        # Of a session of its own, and made before the handlers: what it asks is not counted.
        bills = with_units(boto3.Session().client("dynamodb"))
        handlers: list[Any] = botocore.handlers.BUILTIN_HANDLERS
        handlers.append(("provide-client-params.dynamodb.*", self._ask))
        handlers.append(("provide-client-params.events.PutEvents", self._count_events))
        handlers.append(("before-call.dynamodb.BatchExecuteStatement", bills))
        handlers.append(("after-call.*", self._count))
        call = OpenSearchHttp.call

        def counted(http: OpenSearchHttp, method: str, path: str, *rest: Any, **named: Any) -> Any:
            self._count_index(path, named.get("query") or {})
            return call(http, method, path, *rest, **named)

        setattr(OpenSearchHttp, "call", counted)  # noqa: B010 - mypy takes no other way

    def _ask(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        if "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "INDEXES"
        for wanted in params.get("RequestItems", {}).values():
            # What does not exist is read, too, and billed as one unit; the engine leaves it out.
            self.found["keys"] += len(wanted.get("Keys", ()))

    def _count_events(self, params: Mapping[str, Any], **_: Any) -> None:
        self.found["events"] += len(params["Entries"])

    def _count(self, parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        name = model.name
        service = model.service_model.service_name
        self.found[f"{service} {name}"] += 1
        if service == "dynamodb":
            billed = parsed.get("ConsumedCapacity") or []
            calls = billed if isinstance(billed, list) else [billed]
            units = sum(one["CapacityUnits"] for one in calls)  # with those of its indexes
            self.found["write units" if name in WRITES else "read units"] += units
            if name == "BatchGetItem":
                self.found["items"] += sum(len(one) for one in parsed["Responses"].values())

    def _count_index(self, path: str, query: Mapping[str, str]) -> None:
        name = path.rsplit("/", 1)[-1]
        self.found[f"index {name}"] += 1
        if name == "_mget" and asks_for_vectors(query):
            self.found["index _mget with vectors"] += 1


def asks_for_vectors(query: Mapping[str, str]) -> bool:
    """Tell whether a read of entries wants their vectors; one that names no fields wants all."""
    wanted = query.get("_source_includes", query.get("_source"))
    if "vector" in query.get("_source_excludes", "") or wanted == "false":
        return False
    return wanted is None or "vector" in wanted


class Function:
    """The program, from the other side."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, event: Mapping[str, Any]) -> dict[str, float]:
        """Run the function on an event; return what it asked for."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(event) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the function ended, see its log")
        answer = json.loads(line)
        if answer["failed"]:
            raise RuntimeError(f"{len(answer['failed'])} records failed, see the log")
        found: dict[str, float] = answer["counts"]
        return found


@contextmanager
def metered(spec: FunctionSpec, place: RunnerPlace, log: Path) -> Iterator[Function]:
    """Run a function of a stack beside it, with the environment that it has there."""
    given = make_program(spec, place, "none").environment
    environment = {k: v for k, v in given.items() if k != "AWS_LAMBDA_RUNTIME_API"}
    command = [sys.executable, "-m", "benchmarks.bench.metered", spec.folder, str(log)]
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Function(process)
    finally:
        process.communicate()


class _Context:
    """What Lambda tells a function about its run."""

    def __init__(self) -> None:
        self._end = time.monotonic() + RUN_SECONDS

    def get_remaining_time_in_millis(self) -> int:
        return round(1000 * (self._end - time.monotonic()))


def _serve(folder: str, log: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    with Path(log).open("ab") as file:
        os.dup2(file.fileno(), 1)
    counts = Counts()
    handler = importlib.import_module(f"functions.{folder}.handler").lambda_handler
    for line in sys.stdin:
        counts.found.clear()
        answer = handler(json.loads(line), _Context())
        failed = answer["batchItemFailures"]
        print(json.dumps({"failed": failed, "counts": counts.found}), file=answers, flush=True)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
