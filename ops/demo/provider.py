"""The local model server's controls, as the demo uses them."""

import json
import urllib.request
from typing import Any

from local.model.faults import Fault, FaultKind
from ops.demo.world import POISON


class Provider:
    """Breaks and heals the provider, and asks it what was paid."""

    def __init__(self, origin: str) -> None:
        self._origin = origin

    def set(self, *, down: bool, refuses_poison: bool) -> None:
        """Put these faults in force instead of all others."""
        faults = []
        if down:
            faults.append(Fault(FaultKind.SERVER_ERROR, status=503))
        if refuses_poison:
            faults.append(Fault(FaultKind.POISON, marker=POISON))
        self._call("PUT", "/faults", [fault.as_json() for fault in faults])

    def chunks_paid(self) -> int:
        """Count the texts that have been paid for."""
        return int(self._call("GET", "/counts")["paid"]["inputs"])

    def requests(self) -> int:
        """Count the requests, whatever became of them."""
        return int(self._call("GET", "/counts")["requests"])

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._origin + path, data=data, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read() or b"null")
