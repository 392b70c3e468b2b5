"""No test leaves this machine or has real credentials, and neither do the programs it starts."""

import os
import socket
import subprocess
import sys
import urllib.request

import boto3
import pytest

from tests.repo.checkout import ROOT
from tests.this_machine.sitecustomize import is_here

# Reserved for documents: https://www.rfc-editor.org/rfc/rfc5737
ELSEWHERE = "192.0.2.1"
# By its text: a worker of pytest-xdist has the class twice, as it is itself a started Python.
REFUSED = "a test may not reach"
CDK_JSON = ROOT / "cdk.json"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "x.localhost", "0.0.0.0", ""])
def test_this_machine_may_be_reached(host: str) -> None:
    """Honest tests: engines and servers listen on loopback."""
    assert is_here(host)


@pytest.mark.parametrize("host", [ELSEWHERE, "10.0.0.1", "2001:db8::1", "example.com", b"a.org"])
def test_no_other_machine_may_be_reached(host: str | bytes) -> None:
    """Honest tests: by name or by address."""
    assert not is_here(host)


def test_connection_to_another_machine_is_refused() -> None:
    """Honest tests: a connection, a datagram and a question for a name."""
    with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        with pytest.raises(ConnectionRefusedError, match=REFUSED):
            stream.connect((ELSEWHERE, 80))
        with pytest.raises(ConnectionRefusedError, match=REFUSED):
            stream.connect_ex((ELSEWHERE, 80))
        with pytest.raises(ConnectionRefusedError, match=REFUSED):
            datagrams.sendto(b"", (ELSEWHERE, 53))
    with pytest.raises(ConnectionRefusedError, match=REFUSED):
        socket.getaddrinfo("example.com", 80)


def test_connection_to_this_machine_passes() -> None:
    """Honest tests: over TCP, and over a Unix socket."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    left, right = socket.socketpair()
    with left, right:
        left.send(b"x")

        assert right.recv(1) == b"x"


def test_started_python_is_refused_too() -> None:
    """Honest tests: the environment carries the rule on."""
    code = f"import socket; socket.create_connection(({ELSEWHERE!r}, 80))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "BeyondThisMachineError" in done.stderr


def test_cdk_json_of_the_checkout_is_not_read() -> None:
    """R01: its stages are the user's: whatever they are changed to, no test breaks."""
    for way in (lambda: CDK_JSON.read_text(), lambda: os.open(CDK_JSON, os.O_RDONLY)):
        with pytest.raises(PermissionError, match="a test may not read"):
            way()
    code = "open('cdk.json')"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert "UsersFileError" in done.stderr


def test_other_programs_get_a_proxy_that_nothing_listens_on() -> None:
    """Honest tests: node and curl read these variables."""
    assert urllib.request.getproxies()["https"] == "http://127.0.0.1:1"
    assert urllib.request.proxy_bypass("localhost")
    assert not urllib.request.proxy_bypass("example.com")


def test_only_made_up_credentials_are_there() -> None:
    """Honest tests: no profile, no role of this machine, no key of a provider."""
    session = boto3.Session()
    credentials = session.get_credentials()

    assert credentials is not None
    assert (credentials.access_key, credentials.method) == ("testing", "env")
    assert session.available_profiles == []
    assert "OPENAI_API_KEY" not in os.environ
    assert os.environ["AWS_EC2_METADATA_DISABLED"] == "true"
