"""A function whose events say what it does: answer, report, fail, hang, die."""

import importlib.util
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any


def lambda_handler(event: dict[str, Any], context: Any) -> Any:
    """Note the event, then do what its orders say."""
    began = time.time()
    records = event.get("Records")
    if records is None:
        return act(event, context)
    try:
        failed = [item for record in records if (item := work(record, context))]
    finally:
        note({"records": records, "began": began, "ended": time.time(), "pid": os.getpid()})
    return {"batchItemFailures": [{"itemIdentifier": item} for item in failed]}


def work(record: dict[str, Any], context: Any) -> str | None:
    """Work one message or stream record; return its id to report it as failed."""
    if "body" in record:
        order, item = json.loads(record["body"]), str(record["messageId"])
        first_time = record["attributes"]["ApproximateReceiveCount"] == "1"
    else:
        image = record["dynamodb"].get("NewImage", {})
        order = {"do": image.get("do", {}).get("S", "")}
        item, first_time = str(record["dynamodb"]["SequenceNumber"]), False
    if order.get("do") == "report" or (order.get("do") == "report_once" and first_time):
        return item
    if not order.get("do", "").endswith("_once") or first_time:
        act({**order, "do": order.get("do", "").removesuffix("_once")}, context)
    return None


def act(order: dict[str, Any], context: Any) -> Any:
    """Do what an order says."""
    match order.get("do"):
        case "fail":
            raise ValueError("told to fail")
        case "die":
            os._exit(3)
        case "sleep":
            time.sleep(order["seconds"])
        case "spawn":
            note({"child": subprocess.Popen(["sleep", "600"]).pid})
            time.sleep(600)
        case "say":
            print(order["text"])  # noqa: T201
        case _:
            return tell(order, context)
    return None


def tell(order: dict[str, Any], context: Any) -> Any:
    """Answer a question about the process."""
    match order.get("do"):
        case "size":
            return "x" * order["bytes"]
        case "find":
            return importlib.util.find_spec(order["module"]) is not None
        case "environment":
            return dict(os.environ)
        case "context":
            return {
                "arn": context.invoked_function_arn,
                "request_id": context.aws_request_id,
                "milliseconds": context.get_remaining_time_in_millis(),
                "name": context.function_name,
                "memory": context.memory_limit_in_mb,
                "trace": os.environ["_X_AMZN_TRACE_ID"],
            }
    return {"pid": os.getpid(), "order": order}


def note(what: dict[str, Any]) -> None:
    """Add a line to the file that the test reads."""
    with Path(os.environ["NOTES"]).open("a") as notes:
        notes.write(json.dumps(what) + "\n")
