"""Requests to OpenSearch: signed for AWS, plain here, and each fault as its failure."""

import json
import socket
import time
from typing import Any

import pytest
from botocore.credentials import Credentials
from urllib3.util import connection

from functions.adapters import opensearch_http
from functions.adapters.opensearch_http import OpenSearchError, OpenSearchHttp, segment
from functions.core.failure import Failure, FailureError, FailureKind
from tests.unit.adapters.scripted_server import Answer, ScriptedServer

CREDENTIALS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI", "the session token")
PAGE = b"<html>the service is being looked after</html>"


@pytest.fixture
def http(scripted: ScriptedServer) -> OpenSearchHttp:
    return OpenSearchHttp(scripted.url, credentials=CREDENTIALS, region="eu-central-1")


def unavailable(message: str) -> Failure:
    return Failure(FailureKind.INDEX_UNAVAILABLE, f"OpenSearch: {message}")


def test_objects_go_as_json_and_bytes_as_they_are(
    http: OpenSearchHttp, scripted: ScriptedServer
) -> None:
    """R12: a bulk body is made once, by whoever packs it."""
    scripted.answers = [Answer(body=b'{"took": 1}')]

    assert http.call("POST", "a/_search", {"size": 1}, query={"x": "ä b"}) == {"took": 1}
    http.call("POST", "a/_bulk", b"{}\n{}\n")
    http.call("GET", "a/_mapping")

    assert [(one.method, one.path, one.body) for one in scripted.asked] == [
        ("POST", "/a/_search?x=%C3%A4+b", b'{"size":1}'),
        ("POST", "/a/_bulk", b"{}\n{}\n"),
        ("GET", "/a/_mapping", b""),
    ]
    assert [one.headers["content-type"] for one in scripted.asked] == [
        "application/json",
        "application/x-ndjson",
        "application/json",
    ]


def test_body_does_not_wait_for_the_headers_to_be_acknowledged(
    http: OpenSearchHttp, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R12 R48: that would cost each request 40 ms."""
    connect, at_once = connection.create_connection, []

    def look(*args: Any, **options: Any) -> socket.socket:
        made = connect(*args, **options)
        at_once.append(bool(made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        return made

    monkeypatch.setattr(connection, "create_connection", look)
    http.call("POST", "a/_search", {"size": 1})

    assert (at_once, len(scripted.asked)) == ([True], 1)


def test_this_machine_is_not_signed_for(http: OpenSearchHttp, scripted: ScriptedServer) -> None:
    """R82: one-machine mode has no login, and no signature leaves for it."""
    http.call("GET", "")

    assert "authorization" not in scripted.asked[0].headers


def test_domain_of_the_service_gets_a_signature(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R12: SigV4 for the service es, with the session token, over path, query and body."""
    # The server's own address stands for a domain's: it is only taken for one.
    monkeypatch.setattr(opensearch_http, "is_service_host", lambda host: host == "127.0.0.1")
    http = OpenSearchHttp(scripted.url, credentials=CREDENTIALS, region="eu-central-1")

    for body in (b"one", b"two"):
        http.call("POST", f"{segment('a/ä')}/_bulk", body, query={"refresh": "wait_for"})

    one, two = (asked.headers for asked in scripted.asked)
    assert one["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/es/aws4_request" in one["authorization"]
    assert "SignedHeaders=content-type;host;x-amz-date" in one["authorization"]
    assert one["x-amz-security-token"] == "the session token"
    assert one["authorization"] != two["authorization"]
    assert scripted.asked[0].path == "/a%2F%C3%A4/_bulk?refresh=wait_for"


def test_host_is_signed_for_without_credentials_only_here() -> None:
    """R82: a process without credentials still reaches this machine."""
    http = OpenSearchHttp("http://127.0.0.1:9/", credentials=None, region="eu-central-1")

    with pytest.raises(FailureError) as caught:
        http.call("GET", "")

    assert caught.value.failure == unavailable("no answer (EndpointConnectionError)")


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (Answer(429), Failure(FailureKind.INDEX_BUSY, "OpenSearch answered 429")),
        (Answer(429, PAGE), Failure(FailureKind.INDEX_BUSY, "OpenSearch answered 429")),
        (Answer(500), unavailable("it answered 500")),
        (Answer(503, PAGE), unavailable("it answered 503")),
        (Answer(200, PAGE), unavailable("it answered 200 with no JSON")),
        (Answer(200, b""), unavailable("it answered 200 with no JSON")),
        (Answer(403, PAGE), unavailable("it answered 403 with no JSON")),
        (Answer(302, PAGE), unavailable("it answered 302 with no JSON")),
    ],
    ids=lambda value: f"{value.status} {value.body[:6]!r}" if isinstance(value, Answer) else "",
)
def test_trouble_of_the_index_is_classified(
    http: OpenSearchHttp, scripted: ScriptedServer, answer: Answer, failure: Failure
) -> None:
    """R12 R22: 429 is a free retry; with 5xx or an unreadable answer the index is unavailable."""
    scripted.answers = [answer]

    with pytest.raises(FailureError) as caught:
        http.call("GET", "")

    assert caught.value.failure == failure


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (
            404,
            {"error": {"type": "index_not_found_exception", "reason": "no such index [a]"}},
            "OpenSearch answered 404 index_not_found_exception: no such index [a]",
        ),
        (
            403,
            {"Message": "User: arn:aws:iam::1:role/r is not authorized"},
            "OpenSearch answered 403 error: User: arn:aws:iam::1:role/r is not authorized",
        ),
        (405, {"error": "Incorrect HTTP method"}, "OpenSearch answered 405 error: Incorrect HTTP"),
        (400, [], "OpenSearch answered 400 error: no reason given"),
        (301, {"message": "moved"}, "OpenSearch answered 301 error: moved"),
    ],
)
def test_refusal_is_told_in_its_words(
    http: OpenSearchHttp, scripted: ScriptedServer, status: int, body: object, message: str
) -> None:
    """R22: OpenSearch's own form, and the one of what stands before it on AWS."""
    scripted.answers = [Answer(status, json.dumps(body).encode())]

    with pytest.raises(OpenSearchError) as caught:
        http.call("GET", "a")

    assert str(caught.value).startswith(message)
    assert caught.value.status == status


def test_no_answer_in_time_is_the_index_unavailable(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R22: a node that hangs does not hold the run until Lambda kills it."""
    monkeypatch.setattr(opensearch_http, "TIMEOUT_SECONDS", 0.1)
    scripted.answers = [Answer(silent=True)]
    http = OpenSearchHttp(scripted.url, credentials=None, region="eu-central-1")
    began = time.monotonic()

    with pytest.raises(FailureError) as caught:
        http.call("GET", "")

    assert caught.value.failure == unavailable("no answer (ReadTimeoutError)")
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("name", ["..", "a/b", "a?b", "a#b", "100%", "ä"])
def test_name_is_one_segment_of_a_path(
    http: OpenSearchHttp, scripted: ScriptedServer, name: str
) -> None:
    """R12: an alias never reaches another path."""
    http.call("GET", f"{segment(name)}/_mapping")

    assert scripted.asked[0].path.count("/") == 2
    assert scripted.asked[0].path.endswith("/_mapping")
