"""moto as a local AWS, where a deployment runs index_setup for real. `python -m` it with a port.

moto would run functions in Docker. Here a custom resource's function runs in the server itself;
streams and queues are left alone, so that a test hands their records on as Lambda would.
"""

import importlib
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

from moto.awslambda.models import LambdaFunction
from moto.cloudformation.models import cloudformation_backends
from moto.events.models import Rule
from moto.server import main

from tests import moto_statements  # noqa: F401  (moto writes rows as DynamoDB does)
from tests.infrastructure import function_url  # noqa: F401  (moto finds its class)


class Context:
    """What index_setup reads of Lambda's context: it may not wait for an index here."""

    def get_remaining_time_in_millis(self) -> int:
        return 1000


class Answer(BaseHTTPRequestHandler):
    """CloudFormation's response URL; moto's own is not reached by a request without a signature."""

    def do_PUT(self) -> None:
        answer = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        _, _, _, region, account, _ = answer["StackId"].split(":", 5)
        stack = cloudformation_backends[account][region].get_stack(answer["StackId"])
        if answer["Status"] == "SUCCESS":
            resource = stack.get_custom_resource(answer["LogicalResourceId"])
            resource.set_data(answer.get("Data", {}))
            stack.verify_readiness()
        else:
            stack.status = "CREATE_FAILED"
        self.send_response(200)
        self.end_headers()


def invoke(self: LambdaFunction, body: str, *_: Any) -> str:
    """Run a custom resource's function; answer anything else with nothing done."""
    event = json.loads(body)
    if "ResponseURL" not in event:
        return ""
    with HTTPServer(("127.0.0.1", 0), Answer) as answers:
        Thread(target=answers.handle_request, daemon=True).start()
        event["ResponseURL"] = f"http://127.0.0.1:{answers.server_port}/"
        os.environ.update(self.environment_vars)
        module, name = str(self.handler).rsplit(".", 1)
        getattr(importlib.import_module(module), name)(event, Context())
    return ""


def match_no_event(self: Rule, *_: Any) -> None:
    """Leave rules with a schedule alone: moto lets them match every event, AWS none."""
    if not self.scheduled_expression:
        raise NotImplementedError(f"rule {self.name}: only rules with a schedule are known here")


if __name__ == "__main__":
    Rule.send_to_targets = match_no_event  # type: ignore[method-assign,assignment]
    LambdaFunction.invoke = invoke  # type: ignore[method-assign,assignment]
    main(["-H", "127.0.0.1", "-p", sys.argv[1]])
