"""The model server's controls, as the storm uses them."""

import json
import urllib.request
from dataclasses import dataclass
from typing import Any

from benchmarks.storm.texts import POISON
from local.model.faults import Fault, FaultKind

CALL_SECONDS = 30.0
REFUSES_POISON = Fault(FaultKind.POISON, marker=POISON)


@dataclass(frozen=True)
class Sales:
    """What the provider was asked and has sold."""

    requests: int
    statuses: dict[str, int]
    tokens: int
    inputs: int
    more_than_once: dict[str, int]  # by vector_key


class Provider:
    """Breaks and heals the provider, and asks it what was paid."""

    def __init__(self, origin: str) -> None:
        self._origin = origin

    def break_with(self, *faults: Fault) -> None:
        """Put these faults in force instead of all others; poison is refused all the time."""
        self._call("PUT", "/faults", [one.as_json() for one in (REFUSES_POISON, *faults)])

    def heal(self) -> None:
        """Take poison, too."""
        self._call("DELETE", "/faults")

    def sales(self) -> Sales:
        """Return the counts so far."""
        counts = self._call("GET", "/counts")
        paid = counts["paid"]
        return Sales(
            requests=counts["requests"],
            statuses=counts["statuses"],
            tokens=paid["tokens"],
            inputs=paid["inputs"],
            more_than_once=paid["more_than_once"],
        )

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._origin + path, data=data, method=method)
        with urllib.request.urlopen(request, timeout=CALL_SECONDS) as answer:
            return json.loads(answer.read() or b"null")
