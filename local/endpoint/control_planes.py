"""Services without an engine: moto answers for those that are true in memory."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.responses import Response

from local.aws_client import local_arn
from local.endpoint.messages import OF_THE_CONNECTION, Request
from local.specs import ScheduleSpec

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


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

    def add_rules(self, region: str, schedules: Sequence[ScheduleSpec]) -> None:
        """Let EventBridge tell of the stack's rules; the runner fires them."""
        if not schedules:
            return
        self._loaded()
        from moto.events.models import events_backends

        backend = events_backends[self._account][region]
        for number, one in enumerate(schedules):
            state = "ENABLED" if one.enabled else "DISABLED"
            backend.put_rule(one.rule, scheduled_expression=one.expression, state=state)
            arn = local_arn("lambda", f"function:{one.function}")
            target = {"Id": f"Target{number}", "Arn": arn, "Input": one.payload}
            backend.put_targets(one.rule, None, [target])

    def rules(self, region: str, bus: str) -> list[Any]:
        """Return the rules of EventBridge that clients have made, as moto keeps them."""
        if self._app is None:
            return []
        from moto.events.models import events_backends

        buses = events_backends[self._account][region].event_buses
        return list(buses[bus].rules.values()) if bus in buses else []

    def _loaded(self) -> "WSGIApplication":
        with self._lock:
            if self._app is None:
                from moto.moto_server.werkzeug_app import (
                    DomainDispatcherApplication,
                    create_backend_app,
                )

                self._app = DomainDispatcherApplication(create_backend_app)
            return self._app
