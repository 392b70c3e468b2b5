"""The control paths of the local model server: break the provider, and count what was paid."""

import json
import urllib.request
from typing import Any

from local.provider.faults import Fault

CALL_SECONDS = 30.0


class Provider:
    """The model server on this machine."""

    def __init__(self, origin: str) -> None:
        self._origin = origin

    def set_faults(self, *faults: Fault) -> None:
        """Put these faults in force instead of all others; none repairs the provider."""
        self._call("PUT", "/faults", [fault.as_json() for fault in faults])

    def add_fault(self, fault: Fault) -> None:
        """Put a fault in force before all others."""
        self._call("POST", "/faults", fault.as_json())

    def faults(self) -> list[dict[str, Any]]:
        """Return the faults in force, with how often each was met."""
        found: list[dict[str, Any]] = self._call("GET", "/faults")
        return found

    def chunks_paid(self) -> int:
        """Count the texts that have been paid for."""
        return int(self.counts()["paid"]["inputs"])

    def requests(self) -> int:
        """Count all requests, answered or not."""
        return int(self.counts()["requests"])

    def counts(self) -> Any:
        """Return everything that the server has counted."""
        return self._call("GET", "/counts")

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._origin + path, data=data, method=method)
        with urllib.request.urlopen(request, timeout=CALL_SECONDS) as answer:
            return json.loads(answer.read() or b"null")
