"""The endpoint as an object: bound at once, so that its URL is known; a `with` block runs it."""

from collections.abc import Callable
from pathlib import Path

from anyio import CapacityLimiter, to_thread
from starlette import requests
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from local.aws_client import ACCOUNT, REGION, local_client
from local.endpoint.control_planes import MotoServices, Stacks
from local.endpoint.engines import DynamoDb, Engine, EngineUrls, Sqs
from local.endpoint.events import Events
from local.endpoint.lambda_api import Functions, LambdaApi, Mappings
from local.endpoint.messages import (
    CLOUDFORMATION,
    DYNAMODB,
    EVENTS,
    LAMBDA,
    OF_THE_CONNECTION,
    SQS,
    Request,
)
from local.endpoint.move_tasks import MoveTasks
from local.endpoint.protocols import AwsError, refusal
from local.http_server import LoopbackServer
from local.specs import StackSpec

# What moto would answer with an empty list, as if nothing had happened.
NOT_RUN_HERE = {
    "logs": "log groups are not run on one machine: `embedq logs` shows the functions' lines",
    "monitoring": "metrics and alarms are not run on one machine: see `embedq stats`,"
    " `embedq health` and `embedq logs --metrics`",
    "lambda": "on one machine Lambda only invokes functions and switches event source mappings:"
    " the names of the functions are outputs of the stack",
}

# Calls in progress: a poll of a queue takes 20 seconds, and a function up to 15 minutes.
CALLS_AT_ONCE = 512


class AwsEndpoint(LoopbackServer):
    """Every AWS service of the stack at one address, on loopback."""

    def __init__(
        self,
        engines: EngineUrls,
        *,
        port: int = 0,
        region: str = REGION,
        account: str = ACCOUNT,
        events_file: Path | None = None,
    ) -> None:
        """Bind the port (0: a free one); `start` begins to answer. The file gets the events."""
        self._tasks = MoveTasks(local_client("sqs", engines.sqs))
        self._engines = [
            Engine(url, connections=CALLS_AT_ONCE) for url in (engines.dynamodb, engines.sqs)
        ]
        self._dynamodb = DynamoDb(self._engines[0], region=region)
        self._sqs = Sqs(self._engines[1], engines.sqs, self._tasks)
        self._lambda = LambdaApi()
        self._events = Events(events_file, region=region, account=account)
        self._stacks = Stacks(region=region, account=account)
        self._moto = MotoServices(account=account)
        self._calls = CapacityLimiter(CALLS_AT_ONCE)
        super().__init__(self._serve, port=port, name="aws-endpoint")

    @property
    def url(self) -> str:
        """Return what AWS_ENDPOINT_URL takes."""
        return f"http://localhost:{self.port}"

    def serve_mappings(self, mappings: Mappings) -> None:
        """Describe and switch these event source mappings from now on."""
        self._lambda.mappings = mappings

    def serve_functions(self, functions: Functions) -> None:
        """Run these functions from now on."""
        self._lambda.functions = functions

    def serve_stack(self, stack: StackSpec) -> None:
        """Describe this stack from now on."""
        self._stacks.serve(stack)

    def close(self) -> None:
        """Stop answering, then the move tasks that run."""
        super().close()
        self._tasks.close()
        for engine in self._engines:
            engine.close()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await requests.Request(scope, receive).body()
        headers = {
            name: value
            for name, value in Headers(scope=scope).items()
            if name not in OF_THE_CONNECTION
        }
        target = scope["raw_path"] + (
            b"?" + scope["query_string"] if scope["query_string"] else b""
        )
        request = Request(scope["method"], target.decode(), headers, body)
        response = await to_thread.run_sync(
            self._answer, request, limiter=self._calls, abandon_on_cancel=True
        )
        await response(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        """Answer a call; a refusal comes in the shape of its protocol."""
        try:
            return self._answers(request)(request)
        except AwsError as error:
            return refusal(request, error)

    def _answers(self, request: Request) -> Callable[[Request], Response]:
        """Return what answers a call: an engine, the runner, our own code or moto."""
        call = (request.service, request.action)
        if request.service == DYNAMODB:
            return self._dynamodb.answer
        if request.service == SQS:
            return self._sqs.answer
        if request.service == LAMBDA and self._lambda.knows(request):
            return self._lambda.answer
        if call == (EVENTS, "PutEvents"):
            return self._events.answer
        if call == (CLOUDFORMATION, "DescribeStacks"):
            return self._stacks.answer
        if reason := NOT_RUN_HERE.get(request.service.name):
            raise AwsError("NotRunHere", reason)
        return self._moto.answer
