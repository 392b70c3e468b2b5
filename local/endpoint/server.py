"""The endpoint as an object: bound at once, so that its URL is known, and a `with` block long."""

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import boto3

from local.endpoint.dynamodb import DynamoDb
from local.endpoint.http_server import EndpointHttpServer
from local.endpoint.lambda_mappings import Mappings, MappingStatus
from local.endpoint.moto_services import MotoServices
from local.endpoint.move_tasks import MoveTasks
from local.endpoint.services import Backends, Services
from local.endpoint.sqs import Sqs
from local.endpoint.stacks import Stacks
from local.endpoint.upstream import EngineUrls
from local.engines.elasticmq import ACCOUNT, REGION
from local.specs import StackSpec

_POLL_SECONDS = 0.02


class AwsEndpoint:
    """Every AWS service of the stack at one address, on loopback."""

    def __init__(
        self, engines: EngineUrls, *, port: int = 0, region: str = REGION, account: str = ACCOUNT
    ) -> None:
        """Bind the port (0: a free one); `start` begins to answer."""
        self._mappings: Mappings = _NoMappings()
        self._stacks = Stacks(region=region, account=account)
        self._tasks = MoveTasks(
            boto3.client(
                "sqs",
                endpoint_url=engines.sqs,
                region_name=region,
                aws_access_key_id="local",
                aws_secret_access_key="local",
            )
        )
        backends = Backends(
            dynamodb=DynamoDb(region=region),
            sqs=Sqs(engines.sqs, self._tasks),
            stacks=self._stacks,
            moto=MotoServices(account=account),
            mappings=lambda: self._mappings,
        )
        self._http = EndpointHttpServer(port, lambda: Services(backends, engines))
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(_POLL_SECONDS,), name="aws-endpoint", daemon=True
        )

    @property
    def url(self) -> str:
        """Return what AWS_ENDPOINT_URL takes."""
        return f"http://localhost:{self._http.server_address[1]}"

    def serve_mappings(self, mappings: Mappings) -> None:
        """Tell and switch these event source mappings from now on."""
        self._mappings = mappings

    def serve_stack(self, stack: StackSpec) -> None:
        """Tell the outputs of this stack from now on."""
        self._stacks.serve(stack)

    def start(self) -> None:
        """Answer calls from now on, in threads."""
        self._thread.start()

    def close(self) -> None:
        """Stop answering and leave no thread and no connection behind."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._tasks.close()
        self._http.server_close()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


class _NoMappings:
    def list(self) -> Sequence[MappingStatus]:
        return ()

    def get(self, mapping_id: str) -> MappingStatus | None:  # noqa: ARG002
        return None

    def set_enabled(self, mapping_id: str, enabled: bool) -> MappingStatus | None:  # noqa: ARG002
        return None
