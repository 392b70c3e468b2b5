"""One call to AWS -> the engine, the runner, moto or our own answer."""

from collections.abc import Callable
from dataclasses import dataclass

from local.endpoint import lambda_mappings
from local.endpoint.dynamodb import DynamoDb
from local.endpoint.events import Events
from local.endpoint.lambda_functions import Functions, answer_invoke, is_invoke
from local.endpoint.lambda_mappings import Mappings, answer_mappings
from local.endpoint.messages import Answer, Request
from local.endpoint.moto_services import MotoServices
from local.endpoint.protocols import AwsError, refusal
from local.endpoint.routing import CLOUDFORMATION, DYNAMODB, EVENTS, LAMBDA, SQS, service_of
from local.endpoint.sqs import Sqs
from local.endpoint.stacks import Stacks
from local.endpoint.upstream import EngineUrls, Upstream


@dataclass(frozen=True)
class Backends:
    """What stands behind the endpoint, shared by all connections."""

    dynamodb: DynamoDb
    sqs: Sqs
    stacks: Stacks
    events: Events
    moto: MotoServices
    mappings: Callable[[], Mappings]
    functions: Callable[[], Functions]


class Services:
    """The services as one client's connection sees them."""

    def __init__(self, backends: Backends, engines: EngineUrls) -> None:
        """Keep a connection of its own to each engine."""
        self._backends = backends
        self._to_dynamodb = Upstream(engines.dynamodb)
        self._to_sqs = Upstream(engines.sqs)

    def answer(self, request: Request) -> Answer:
        """Answer a call; a refusal comes in the shape of its protocol."""
        service = service_of(request)
        try:
            return self._route(service, request)
        except AwsError as error:
            return refusal(request, service, error)

    def close(self) -> None:
        """Let go of the engines."""
        self._to_dynamodb.close()
        self._to_sqs.close()

    def _route(self, service: str, request: Request) -> Answer:
        if service == DYNAMODB:
            return self._backends.dynamodb.answer(request, self._to_dynamodb)
        if service == SQS:
            return self._backends.sqs.answer(request, self._to_sqs)
        if service == LAMBDA:
            return self._lambda(request)
        if service == EVENTS and request.action == "PutEvents":
            return self._backends.events.answer(request)
        if service == CLOUDFORMATION and request.action == "DescribeStacks":
            return self._backends.stacks.answer(request)
        return self._backends.moto.answer(request)

    def _lambda(self, request: Request) -> Answer:
        if request.path.startswith(lambda_mappings.PATH):
            return answer_mappings(request, self._backends.mappings())
        if is_invoke(request):
            return answer_invoke(request, self._backends.functions())
        return self._backends.moto.answer(request)
