"""The control paths /faults and /counts on the running server."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any

import openai
import pytest

from local.provider.faults import Fault, FaultKind

if TYPE_CHECKING:
    from local.provider.server import ModelServer

MODEL = "text-embedding-3-small"


def call(server: ModelServer, method: str, path: str, body: str | None = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request(method, path, body)
    response = connection.getresponse()
    answer = response.status, json.loads(response.read())
    connection.close()
    return answer


def test_faults_are_put_read_and_deleted_while_the_server_runs(
    server: ModelServer, client: openai.OpenAI
) -> None:
    """R81: a demo switches the provider off and on."""
    put = call(server, "PUT", "/faults", '{"kind": "server_error", "status": 503}')
    with pytest.raises(openai.InternalServerError):
        client.embeddings.create(model=MODEL, input="a")
    during = call(server, "GET", "/faults")
    deleted = call(server, "DELETE", "/faults")
    client.embeddings.create(model=MODEL, input="a")

    assert put == (200, [{"kind": "server_error", "status": 503, "fired": 0}])
    assert during == (200, [{"kind": "server_error", "status": 503, "fired": 1}])
    assert deleted == (200, [])


def test_fault_is_added_to_those_in_force(server: ModelServer) -> None:
    """R81: an operator breaks more without knowing what others broke."""
    server.faults(Fault(FaultKind.NAN))

    status, answer = call(server, "POST", "/faults", '{"kind": "poison", "marker": "xyzzy"}')

    assert (status, [one["kind"] for one in answer]) == (200, ["poison", "nan"])


@pytest.mark.parametrize("body", ["[", '[{"kind": "hang"}, {"kind": "flood"}]'])
def test_refused_plan_leaves_the_old_one_in_force(server: ModelServer, body: str) -> None:
    """R81: a plan is taken whole or not at all."""
    server.faults(Fault(FaultKind.NAN))

    status, answer = call(server, "PUT", "/faults", body)

    assert status == 400
    assert answer["error"]["message"]
    assert call(server, "GET", "/faults")[1] == [{"kind": "nan", "fired": 0}]


def test_counts_list_requests_by_status_and_inputs_paid_more_than_once(
    server: ModelServer, client: openai.OpenAI
) -> None:
    """R13: a vector that was paid twice shows, whatever requests it came in."""
    client.embeddings.create(model=MODEL, input=["again", "once"])
    client.embeddings.create(model=MODEL, input=["again"])
    client.embeddings.create(model=MODEL, input=["once"], dimensions=8)
    server.faults(Fault(FaultKind.FEWER_VECTORS, requests=1), Fault(FaultKind.UNAUTHORIZED))
    client.embeddings.create(model=MODEL, input=["spoilt", "spoilt too"])
    with pytest.raises(openai.AuthenticationError):
        client.embeddings.create(model=MODEL, input="refused")
    status, counts = call(server, "GET", "/counts")

    again = counts["paid"].pop("more_than_once")
    assert status == 200
    assert list(again.values()) == [2]
    assert counts == {
        "requests": 5,
        "inputs": 7,
        "tokens": 13,
        "statuses": {"200": 4, "401": 1},
        "paid": {"inputs": 4, "tokens": 6, "distinct_inputs": 3},
    }


def test_counts_start_again_at_zero(server: ModelServer, client: openai.OpenAI) -> None:
    """R13: a test counts its own part only."""
    client.embeddings.create(model=MODEL, input="a")

    assert call(server, "DELETE", "/counts")[1] == call(server, "GET", "/counts")[1]
    assert server.counts()["requests"] == 0


def test_unknown_control_path_is_not_found(server: ModelServer) -> None:
    """R82: a mistyped path is an error."""
    assert call(server, "GET", "/fault")[0] == 404
    assert call(server, "PUT", "/counts", "{}")[0] == 404
