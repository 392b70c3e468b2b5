"""Services without an engine: CloudFormation's DescribeStacks by hand, and moto for the rest."""

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.responses import Response

from local.endpoint.messages import OF_THE_CONNECTION, Request
from local.endpoint.protocols import AwsError, result
from local.specs import StackSpec

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


class Stacks:
    """Describes the running stack; moto does not know it."""

    def __init__(self, *, region: str, account: str) -> None:
        self._arn_start = f"arn:aws:cloudformation:{region}:{account}:stack/"
        self._described: dict[str, Any] | None = None

    def serve(self, stack: StackSpec) -> None:
        """Describe this stack from now on."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._described = {
            "StackId": f"{self._arn_start}{stack.name}/{stack.name}",
            "StackName": stack.name,
            "CreationTime": now.replace("+00:00", "Z"),
            "StackStatus": "CREATE_COMPLETE",
            "Outputs": [
                {"OutputKey": key, "OutputValue": value} for key, value in stack.outputs.items()
            ],
        }

    def answer(self, request: Request) -> Response:
        """Answer DescribeStacks."""
        wanted = request.form.get("StackName", "")
        stack = self._described
        if stack is not None and wanted in ("", stack["StackName"], stack["StackId"]):
            return result(request, {"Stacks": [stack]})
        if wanted:
            raise AwsError("ValidationError", f"Stack with id {wanted} does not exist")
        return result(request, {"Stacks": []})


class MotoServices:
    """Secrets Manager, S3, EventBridge and others, in this process; the end forgets everything."""

    def __init__(self, *, account: str) -> None:
        self._account = account
        self._lock = threading.Lock()
        self._app: WSGIApplication | None = None

    def answer(self, request: Request) -> Response:
        """Let moto answer a call."""
        # Not imported before it is needed: moto takes over a second.
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
            body, status, found = run_wsgi_app(self._loaded(), builder.get_environ())
            dropped = OF_THE_CONNECTION | {"date", "server"}
            if request.method == "HEAD":
                # The length of what GET would bring.
                dropped -= {"content-length"}
            headers = {name: value for name, value in found if name.lower() not in dropped}
            return Response(b"".join(body), int(status.split()[0]), headers)
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
