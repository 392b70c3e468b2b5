"""The listening socket of the endpoint; each connection has its own way to the engines."""

from collections.abc import Callable

from local.endpoint.http_handler import EndpointRequestHandler
from local.endpoint.services import Services
from local.loopback_server import LoopbackHttpServer


class EndpointHttpServer(LoopbackHttpServer):
    """Opens the services anew for each connection."""

    def __init__(self, port: int, open_services: Callable[[], Services]) -> None:
        """Bind the port; 0 takes a free one."""
        self.open_services = open_services
        super().__init__(port, EndpointRequestHandler)
