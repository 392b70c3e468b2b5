"""The endpoint as an object: bound at once, so that its URL is known; a `with` block runs it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from anyio import CapacityLimiter, to_thread
from starlette import requests
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from local.aws_client import ACCOUNT, REGION, local_client
from local.endpoint.control_planes import MotoServices
from local.endpoint.engines import DynamoDb, Engine, EngineUrls, Sqs
from local.endpoint.events import Events
from local.endpoint.lambda_api import Functions, LambdaApi, Mappings
from local.endpoint.logs_api import LogGroups
from local.endpoint.messages import (
    CLOUDFORMATION,
    DYNAMODB,
    EVENTS,
    LAMBDA,
    LOGS,
    MONITORING,
    OF_THE_CONNECTION,
    SQS,
    Request,
)
from local.endpoint.metrics_api import MetricsApi, Watched
from local.endpoint.move_tasks import MoveTasks
from local.endpoint.protocols import AwsError, refusal
from local.endpoint.rules import Delivery, check_change
from local.endpoint.stacks import Stacks
from local.http_server import LoopbackServer
from local.specs import StackSpec

# Where moto's answers are true: nothing of them runs elsewhere. Without a signature it is S3.
OF_MOTO = ("", "events", "s3", "secretsmanager", "sts")
# What to use instead of what moto would answer with an empty list, as if nothing had happened.
NOT_RUN_HERE = {
    "lambda": "on one machine Lambda lists, describes and invokes functions and switches event"
    " source mappings: only the template changes functions",
}
RUN_HERE = (
    "dynamodb, sqs, lambda, cloudformation, cloudwatch, logs, events, s3, secretsmanager and sts"
)

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
        self._moto = MotoServices(account=account)
        self._delivery = Delivery(
            partial(self._moto.rules, region), local_client("sqs", engines.sqs)
        )
        self._events = Events(
            events_file, region=region, account=account, deliver=self._delivery.deliver
        )
        self._stacks = Stacks(region=region, account=account)
        self._rules: frozenset[str] = frozenset()
        self._logs = LogGroups()
        self._metrics = MetricsApi()
        self._region = region
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
        self._delivery.functions = functions

    def serve_logs(self, folder: Path, stack: StackSpec) -> None:
        """Show the lines of the stack's functions, from the files of a folder."""
        self._logs.serve(folder, {one.log_group: one.name for one in stack.functions})

    def serve_metrics(self, watch: Watched) -> None:
        """Show what is measured, and the alarms over it."""
        self._metrics.watch = watch

    def serve_stack(self, stack: StackSpec) -> None:
        """Describe this stack from now on."""
        self._stacks.serve(stack)
        self._lambda.listed.functions = stack.functions
        self._moto.add_rules(self._region, stack.schedules)
        self._rules = frozenset(one.rule for one in stack.schedules)

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
        own = {
            DYNAMODB: self._dynamodb.answer,
            SQS: self._sqs.answer,
            CLOUDFORMATION: self._stacks.answer,
            LOGS: self._logs.answer,
            MONITORING: self._metrics.answer,
        }
        if request.service in own:
            return own[request.service]
        if request.service == LAMBDA and self._lambda.knows(request):
            return self._lambda.answer
        name = request.service.name
        if name not in OF_MOTO:
            reason = f"{name} is not run on one machine: only {RUN_HERE} are"
            raise AwsError("NotRunHere", NOT_RUN_HERE.get(name, reason))
        if request.service == EVENTS:
            return self._answer_events
        return self._moto.answer

    def _answer_events(self, request: Request) -> Response:
        if request.action == "PutEvents":
            return self._events.answer(request)
        check_change(request, self._rules)
        return self._moto.answer(request)
