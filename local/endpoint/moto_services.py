"""The small control planes that no engine has: moto, in this process, without a port of its own."""

import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from local.endpoint.messages import Answer, Request

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


class MotoServices:
    """Secrets Manager, S3, EventBridge and the rest; everything is forgotten at the end."""

    def __init__(self, *, account: str) -> None:
        """Import nothing yet: moto takes over a second."""
        self._account = account
        self._lock = threading.Lock()
        self._app: WSGIApplication | None = None

    def answer(self, request: Request) -> Answer:
        """Let moto answer a call."""
        from werkzeug.datastructures import Headers
        from werkzeug.test import EnvironBuilder, run_wsgi_app

        parts = urlsplit(request.target)
        builder = EnvironBuilder(
            path=parts.path,
            query_string=parts.query,
            method=request.method,
            base_url=f"http://{request.headers.get('host', 'localhost')}/",
            # Without it moto takes 123456789012 for the account of any key.
            headers=Headers([*request.headers.items(), ("x-moto-account-id", self._account)]),
            data=request.body,
        )
        try:
            body, status, headers = run_wsgi_app(self._loaded(), builder.get_environ())
            return Answer(int(status.split()[0]), list(headers), b"".join(body))
        finally:
            builder.close()

    def _loaded(self) -> "WSGIApplication":
        with self._lock:
            if self._app is None:
                from moto.moto_server.werkzeug_app import (
                    DomainDispatcherApplication,
                    create_backend_app,
                )

                self._app = DomainDispatcherApplication(create_backend_app)
            return self._app
