"""The console on a port of this machine, under an address that holds a secret."""

import secrets
import socket
from typing import TYPE_CHECKING, Self

import uvicorn

from ops.console.app import Console
from ops.console.sampling import EVERY_SECONDS
from ops.output import UsageError

if TYPE_CHECKING:
    from ops.deployment import Deployment

LOOPBACK = "127.0.0.1"
# Streams of events stay open: they are cut when the console ends.
CLOSE_SECONDS = 1


class ConsoleServer:
    """Listens for the length of a `with` block, and answers while `run` runs."""

    def __init__(
        self,
        deployment: "Deployment",
        *,
        port: int = 0,
        allows_actions: bool = False,
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        """Bind the port; 0 takes a free one."""
        self._listener = _listen(port)
        token = secrets.token_urlsafe(24)
        self.console = Console(
            deployment, token=token, allows_actions=allows_actions, every_seconds=every_seconds
        )
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://{LOOPBACK}:{self.port}/?token={token}"
        self._server = uvicorn.Server(
            uvicorn.Config(
                self.console.app,
                ws="none",
                lifespan="off",
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=CLOSE_SECONDS,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End what still runs, and free the port."""
        self.console.close()
        self._listener.close()

    def run(self) -> None:
        """Answer until `stop`, or in the main thread until Ctrl-C."""
        self._server.run([self._listener])

    def stop(self) -> None:
        self.console.changes.close()
        self._server.should_exit = True


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise UsageError(
            f"port {port} of this machine cannot be used: {error.strerror}; choose another one"
        ) from error
