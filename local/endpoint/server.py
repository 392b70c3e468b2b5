"""The endpoint as an object: bound at once, so that its URL is known, and a `with` block long."""

from collections.abc import Sequence
from pathlib import Path

from local.aws_client import ACCOUNT, REGION, local_client
from local.endpoint.dynamodb import DynamoDb
from local.endpoint.events import Events
from local.endpoint.http_server import EndpointHttpServer
from local.endpoint.lambda_functions import Functions
from local.endpoint.lambda_mappings import Mappings, MappingStatus
from local.endpoint.moto_services import MotoServices
from local.endpoint.move_tasks import MoveTasks
from local.endpoint.services import Backends, Services
from local.endpoint.sqs import Sqs
from local.endpoint.stacks import Stacks
from local.endpoint.upstream import EngineUrls
from local.loopback_server import InBackground
from local.runner.invocation import Invocation
from local.specs import StackSpec


class AwsEndpoint(InBackground):
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
        self._mappings: Mappings = _NoMappings()
        self._functions: Functions = _NoFunctions()
        self._stacks = Stacks(region=region, account=account)
        self._tasks = MoveTasks(local_client("sqs", engines.sqs))
        backends = Backends(
            dynamodb=DynamoDb(region=region),
            sqs=Sqs(engines.sqs, self._tasks),
            stacks=self._stacks,
            events=Events(events_file, region=region, account=account),
            moto=MotoServices(account=account),
            mappings=lambda: self._mappings,
            functions=lambda: self._functions,
        )
        http = EndpointHttpServer(port, lambda: Services(backends, engines))
        super().__init__(http, "aws-endpoint")

    @property
    def url(self) -> str:
        """Return what AWS_ENDPOINT_URL takes."""
        return f"http://localhost:{self.port}"

    def serve_mappings(self, mappings: Mappings) -> None:
        """Tell and switch these event source mappings from now on."""
        self._mappings = mappings

    def serve_functions(self, functions: Functions) -> None:
        """Run these functions from now on."""
        self._functions = functions

    def serve_stack(self, stack: StackSpec) -> None:
        """Tell the outputs of this stack from now on."""
        self._stacks.serve(stack)

    def close(self) -> None:
        """Stop answering, then the move tasks that run."""
        super().close()
        self._tasks.close()


class _NoMappings:
    def list(self) -> Sequence[MappingStatus]:
        return ()

    def get(self, mapping_id: str) -> MappingStatus | None:  # noqa: ARG002
        return None

    def set_enabled(self, mapping_id: str, enabled: bool) -> MappingStatus | None:  # noqa: ARG002
        return None


class _NoFunctions:
    def has(self, function: str) -> bool:  # noqa: ARG002
        return False

    def invoke(self, function: str, payload: bytes) -> Invocation:
        raise KeyError(function, payload)

    def invoke_later(self, function: str, payload: bytes) -> None:
        raise KeyError(function, payload)
