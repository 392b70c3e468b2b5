"""Threads that write to the table as the plan says."""

import threading
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.storm.operations import WRITERS, Operation
from benchmarks.storm.texts import item
from functions.adapters.dynamodb_values import to_dynamodb
from ops.deployment import Deployment


class Writers:
    """The application: several writers at once, each with its own documents."""

    def __init__(self, deployment: Deployment, operations: Sequence[Operation]) -> None:
        self._deployment = deployment
        self._table = deployment.source(None).table
        self._lock = threading.Lock()
        self._errors: list[Exception] = []
        self.written = 0
        self._threads = [
            threading.Thread(
                target=self._run,
                args=([one for one in operations if one.writer == number],),
                name=f"writer-{number}",
                daemon=True,
            )
            for number in range(WRITERS)
        ]

    def start(self, stop: threading.Event) -> None:
        """Begin; each write comes at its time, or as soon as the one before is done."""
        self._stop = stop
        self._began = time.monotonic()
        for thread in self._threads:
            thread.start()

    @property
    def are_done(self) -> bool:
        """Tell whether everything is written; raise what went wrong."""
        if self._errors:
            raise self._errors[0]
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self, operations: Sequence[Operation]) -> None:
        try:
            client = self._deployment.client("dynamodb")
            for operation in operations:
                wait = self._began + operation.at_seconds - time.monotonic()
                if self._stop.wait(max(0.0, wait)):
                    return
                self._write(client, operation)
                with self._lock:
                    self.written += 1
        except Exception as error:  # noqa: BLE001
            self._errors.append(error)

    def _write(self, client: Any, operation: Operation) -> None:
        if operation.content is None:
            key = {"id": {"S": operation.document}}
            client.delete_item(TableName=self._table, Key=key)
        else:
            values = to_dynamodb(item(operation.document, operation.content))
            client.put_item(TableName=self._table, Item=values)
