"""The ports of a stack: the same at every start, unless another program has one."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.engines.errors import EngineStartError
from local.engines.ports import FIRST_PORT, LAST_PORT, Ports


@pytest.fixture
def taken() -> Iterator[int]:
    """Return a port on which another program listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def test_ports_are_those_of_the_last_time(tmp_path: Path) -> None:
    """R82: each part has its own, and keeps it over restarts."""
    parts = ("AWS endpoint", "OpenSearch", "model server")
    first = Ports(tmp_path, lambda _: None)
    given = [first.take(part) for part in parts]

    again = Ports(tmp_path, lambda _: None)

    assert [again.take(part) for part in parts] == given
    assert len(set(given)) == len(parts)
    assert all(FIRST_PORT <= port <= LAST_PORT for port in given)


def test_port_that_another_program_has_is_said_and_replaced(tmp_path: Path, taken: int) -> None:
    """R82: two checkouts on one machine do not end each other's start."""
    said: list[str] = []
    (tmp_path / "ports.json").write_text(f'{{"OpenSearch": {taken}}}')

    port = Ports(tmp_path, said.append).take("OpenSearch")

    assert said == [f"OpenSearch: port {taken} is taken by another program, now {port}"]
    assert Ports(tmp_path, said.append).take("OpenSearch") == port != taken


def test_port_that_was_asked_for_is_used_and_remembered(tmp_path: Path) -> None:
    """R82: `up --port` once is enough."""
    free = Ports(tmp_path / "other", lambda _: None).take("AWS endpoint")

    assert Ports(tmp_path, lambda _: None).take("AWS endpoint", asked=free) == free
    assert Ports(tmp_path, lambda _: None).take("AWS endpoint") == free


def test_port_that_was_asked_for_and_is_taken_is_refused(tmp_path: Path, taken: int) -> None:
    """R82: no other one is chosen in silence."""
    with pytest.raises(EngineStartError, match=f"port {taken} cannot be used: address already in"):
        Ports(tmp_path, lambda _: None).take("AWS endpoint", asked=taken)


def test_part_does_not_get_the_port_of_another_part(tmp_path: Path) -> None:
    """R82: the port that was asked for was that of the model server the last time."""
    ports = Ports(tmp_path, lambda _: None)
    model = ports.take("model server")

    again = Ports(tmp_path, lambda _: None)

    assert again.take("AWS endpoint", asked=model) == model
    assert again.take("model server") != model
