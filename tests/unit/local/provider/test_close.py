"""Closing the model server: no thread, connection or waiting client is left behind."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
from typing import TYPE_CHECKING

import pytest

from local.provider.faults import Fault, FaultKind
from local.provider.server import ModelServer
from local.provider.vectors import HashedVectors
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

BODY = json.dumps({"model": "m", "input": "text", "dimensions": 8})


def connect(server: ModelServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)


def wait_for(outcome: str, server: ModelServer) -> None:
    until(lambda: server.counts()["statuses"].get(outcome) == 1, f"a request ended with {outcome}")


def assert_ended(threads: set[threading.Thread]) -> None:
    for thread in threads:
        thread.join(timeout=5)
        assert not thread.is_alive()


def test_close_ends_idle_and_hanging_connections() -> None:
    """R82: a kept-alive client and a hanging request do not hold the server open."""
    threads_before = set(threading.enumerate())
    server = ModelServer()
    idle, hanging = connect(server), connect(server)
    with server:
        idle.request("POST", "/v1/embeddings", BODY)
        assert idle.getresponse().read()
        server.faults(Fault(FaultKind.HANG))
        hanging.request("POST", "/v1/embeddings", BODY)
        wait_for("hang", server)

    with pytest.raises(http.client.RemoteDisconnected):
        hanging.getresponse()
    assert idle.sock is not None
    assert idle.sock.recv(1) == b""
    idle.close()
    hanging.close()
    assert_ended(set(threading.enumerate()) - threads_before)


def test_hanging_request_ends_when_its_client_leaves() -> None:
    """R82: a thousand timeouts against a hanging server leave no thousand threads."""
    with ModelServer() as server:
        threads_before = set(threading.enumerate())
        server.faults(Fault(FaultKind.HANG))
        hanging = connect(server)
        hanging.request("POST", "/v1/embeddings", BODY)
        wait_for("hang", server)
        hanging.close()

        assert_ended(set(threading.enumerate()) - threads_before)


def test_client_that_leaves_before_its_answer_is_no_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """R82: a client's timeout prints no stack and spoils no other request."""
    with ModelServer() as server:
        server.faults(Fault(FaultKind.LATENCY, seconds=0.05, requests=3))
        for _ in range(3):
            impatient = connect(server)
            impatient.request("POST", "/v1/embeddings", BODY)
            assert impatient.sock is not None
            # Ends with RST, so that the server's write really fails.
            impatient.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            impatient.close()
        patient = connect(server)
        patient.request("POST", "/v1/embeddings", BODY)
        status = patient.getresponse().status
        patient.close()

    assert status == 200
    assert capsys.readouterr().err == ""


def test_request_of_a_client_that_has_left_is_not_computed() -> None:
    """R82: requests that timed out at their client do not delay those that still wait."""
    with ModelServer() as server:
        server.faults(Fault(FaultKind.LATENCY, seconds=60, requests=1))
        impatient = connect(server)
        impatient.request("POST", "/v1/embeddings", BODY)
        impatient.close()

        wait_for("499", server)
        assert server.counts()["paid"]["inputs"] == 0


class _Slow(HashedVectors):
    """A model that takes its time for each part of a request."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.computed = 0

    def embed(self, texts: Sequence[str], dimensions: int) -> NDArray[np.float32]:
        self.began.set()
        threading.Event().wait(0.05)
        self.computed += len(texts)
        return super().embed(texts, dimensions)


def test_client_that_leaves_meanwhile_costs_no_more_work() -> None:
    """R22 R82: what is computed for it would delay the requests that still wait."""
    model = _Slow()
    body = json.dumps({"model": "text-embedding-3-small", "input": ["text"] * 2048})
    with ModelServer(model) as server:
        impatient = connect(server)
        impatient.request("POST", "/v1/embeddings", body)
        assert model.began.wait(10)
        impatient.close()

        wait_for("499", server)
        assert model.computed < 1024
        assert server.counts()["paid"]["inputs"] == 0


def test_server_that_never_started_closes_too() -> None:
    """R82: Ctrl-C between bind and start frees the port."""
    server = ModelServer()
    server.close()

    ModelServer(port=server.port).close()
