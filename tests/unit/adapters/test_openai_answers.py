"""Answers and refusals that no model server of ours gives, from a server that says anything."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from functions.adapters.openai_embedder import OpenAiEmbedder
from functions.core.failure import (
    Failure,
    FailureError,
    FailureKind,
    RefusedRequestError,
    TooLargeRequestError,
)
from functions.core.ports import Embedded
from tests.builders import make_target
from tests.unit.adapters.scripted_server import Answer, ScriptedServer


def embed(server: ScriptedServer, *texts: str, **target: Any) -> Embedded:
    settings = make_target(**{"base_url": server.url, "dimensions": 2, **target})
    return OpenAiEmbedder(settings, lambda _: "the key").embed(texts, timeout_seconds=5)


def answer(data: object, **fields: object) -> Answer:
    body = json.dumps({"data": data, **fields}).encode()
    return Answer(body=body, headers={"content-type": "application/json"})


def item(index: object, embedding: object) -> dict[str, object]:
    return {"index": index, "embedding": embedding}


def test_request_asks_for_base64_and_dimensions(scripted: ScriptedServer) -> None:
    """R09: base64 is half the bytes and a fraction of the parsing."""
    numbers = base64.b64encode(np.array([1, 2], dtype="<f4").tobytes()).decode()
    scripted.answers = [answer([item(0, numbers)], usage={"total_tokens": 3})]

    embedded = embed(scripted, "hello")

    assert json.loads(scripted.asked[0].body) == {
        "model": "text-embedding-3-small",
        "input": ["hello"],
        "encoding_format": "base64",
        "dimensions": 2,
    }
    assert scripted.asked[0].headers["authorization"] == "Bearer the key"
    assert ([one.tolist() for one in embedded.vectors], embedded.tokens) == ([[1, 2]], 3)


def test_numbers_instead_of_base64_are_taken(scripted: ScriptedServer) -> None:
    """R14: some compatible providers ignore the asked format, and send no usage."""
    scripted.answers = [answer([item(0, [0.5, -1])])]

    embedded = embed(scripted, "hello", provider="compatible")

    assert ([one.tolist() for one in embedded.vectors], embedded.tokens) == ([[0.5, -1]], 2)
    assert "dimensions" not in json.loads(scripted.asked[0].body)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param([item(0, "not base64!")], id="not base64"),
        pytest.param([item(0, "AAAA")], id="three bytes"),
        pytest.param([item(0, [1, "x"])], id="not a number"),
        pytest.param([item(0, [[1, 2]])], id="a matrix"),
        pytest.param([item(0, None)], id="no vector"),
        pytest.param([item("x", [1, 2])], id="no number as index"),
        pytest.param([item(1, [1, 2])], id="index of no text"),
        pytest.param([{}], id="an empty object"),
        pytest.param([], id="no vectors"),
        pytest.param([item(0, [1, 2]), item(1, [1, 2])], id="more vectors than texts"),
        pytest.param([item(0, [1, 2]), item(0, [1, 2])], id="one vector twice"),
        pytest.param(None, id="null"),
        pytest.param({"0": [1, 2]}, id="an object"),
        pytest.param([item(0, [1, 1e999])], id="infinity"),
        pytest.param([item(0, [1e-45, 1e-45])], id="too short for a cosine"),
        pytest.param([item(0, [1e30, 1e30])], id="too long for a cosine"),
    ],
)
def test_wrong_answer_is_a_provider_error(scripted: ScriptedServer, data: object) -> None:
    """R22: nothing of it is written, and nothing of it is told."""
    scripted.answers = [answer(data)]

    with pytest.raises(FailureError, match="the provider is wrong") as caught:
        assert embed(scripted, "hello").vectors

    assert caught.value.failure.kind is FailureKind.PROVIDER_ERROR


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"3", b'{"data": 3}', b"\xff\xfe"])
def test_answer_of_another_shape_is_a_provider_error(scripted: ScriptedServer, body: bytes) -> None:
    """R22: a status of 200 is no promise of an answer."""
    scripted.answers = [Answer(body=body, headers={"content-type": "application/json"})]

    with pytest.raises(FailureError, match="the provider is wrong: the answer cannot be read"):
        embed(scripted, "hello")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, FailureKind.CONFIGURATION),
        (304, FailureKind.CONFIGURATION),
        (401, FailureKind.CONFIGURATION),
        (403, FailureKind.CONFIGURATION),
        (404, FailureKind.CONFIGURATION),
        (405, FailureKind.CONFIGURATION),
        (410, FailureKind.CONFIGURATION),
        (415, FailureKind.CONFIGURATION),
        (408, FailureKind.TIMEOUT),
        (409, FailureKind.PROVIDER_ERROR),
        (422, FailureKind.INVALID_INPUT),
        (429, FailureKind.THROTTLED),
        (500, FailureKind.PROVIDER_ERROR),
        (504, FailureKind.PROVIDER_ERROR),
        (529, FailureKind.PROVIDER_ERROR),
    ],
)
def test_status_without_a_word_has_its_kind(
    scripted: ScriptedServer, status: int, kind: FailureKind
) -> None:
    """R22: gateways answer with a status and a page."""
    scripted.answers = [Answer(status, b"<html>hello the key</html>")]

    with pytest.raises(FailureError) as caught:
        embed(scripted, "hello")

    assert (caught.value.failure.kind, caught.value.failure.message) == (
        kind,
        f"the provider answered {status}",
    )
    assert isinstance(caught.value, RefusedRequestError) is (status == 422)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "12"}, 12),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({"retry-after": "Thu, 99 Foo 2026 99:00:00 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 900),
        ({"retry-after": "1e308"}, 900),
        ({"retry-after-ms": "1e308"}, 900),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({}, None),
    ],
    ids=str,
)
def test_retry_after_in_any_form(
    scripted: ScriptedServer, headers: dict[str, str], seconds: float | None
) -> None:
    """R23: what cannot be read leaves the delay to the policy."""
    scripted.answers = [Answer(429, b"{}", headers)]

    with pytest.raises(FailureError) as caught:
        embed(scripted, "hello")

    assert caught.value.failure.retry_after_seconds == seconds


def test_message_of_a_refusal_is_not_told(scripted: ScriptedServer) -> None:
    """R22: a provider's message may quote the input."""
    error = {"error": {"message": "bad input: hello", "type": "invalid_request_error"}}
    scripted.answers = [
        Answer(400, json.dumps(error).encode(), {"content-type": "application/json"})
    ]

    with pytest.raises(RefusedRequestError) as caught:
        embed(scripted, "hello")

    assert caught.value.failure.message == "the provider answered 400 invalid_request_error"


def test_good_vectors_of_an_answer_are_kept(scripted: ScriptedServer) -> None:
    """R10 R13: paid is paid; only the text with the wrong vector fails."""
    wrong: list[object] = [[1, 1e999], [0, 0], [1, 2, 3], "not base64!", None]
    data = [item(n, embedding) for n, embedding in enumerate([[1, 2], *wrong, [3, 4]])]
    scripted.answers = [answer(data)]

    results = embed(scripted, *"abcdefg").results

    failures = [one for one in results if isinstance(one, Failure)]
    assert [isinstance(one, Failure) for one in results] == [False, *[True] * 5, False]
    assert {failure.kind for failure in failures} == {FailureKind.PROVIDER_ERROR}
    assert [
        failure.message.removeprefix("the provider is wrong: a vector ") for failure in failures
    ] == [
        "holds NaN or infinity",
        "is all zeros",
        "has 3 dimensions, not 2",
        "cannot be read",
        "has 1 dimensions, not 2",
    ]


def test_nan_as_python_writes_it_spoils_one_vector(scripted: ScriptedServer) -> None:
    """R10: it is no JSON, but some servers send it."""
    body = b'{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [NaN, 1]}]}'
    scripted.answers = [Answer(body=body, headers={"content-type": "application/json"})]

    good, bad = embed(scripted, "a", "b").results

    assert not isinstance(good, Failure)
    assert isinstance(bad, Failure)


def test_missing_index_is_the_position(scripted: ScriptedServer) -> None:
    """R14: some leave out the index 0, some leave out all, some write null."""
    scripted.answers = [
        answer([{"embedding": [1, 2]}, item(1, [3, 4])]),
        answer([{"embedding": [1, 2]}, {"embedding": [3, 4]}]),
        answer([item(None, [1, 2]), item(None, [3, 4])]),
    ]

    for _ in range(3):
        assert [one.tolist() for one in embed(scripted, "a", "b").vectors] == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"total_tokens": None},
        {"total_tokens": 0},
        {"total_tokens": -5},
        {"total_tokens": "many"},
        {"total_tokens": 10**60},
        {"total_tokens": 10**9},
        {"total_tokens": True},
        {"total_tokens": [3]},
        [],
        "none",
    ],
    ids=str,
)
def test_unusable_usage_is_counted_by_ourselves(scripted: ScriptedServer, usage: object) -> None:
    """R09 R14: a quarter of the bytes; pacing goes on, and what is paid is kept."""
    scripted.answers = [answer([item(0, [1, 2])], usage=usage)]

    embedded = embed(scripted, "x" * 40)

    assert (len(embedded.vectors), embedded.tokens) == (1, 10)


@pytest.mark.parametrize(
    "code", ["hello the text", "a" * 65, "line\nline", "<b>", "ü", "", 12, ["x"], None], ids=repr
)
def test_code_of_an_error_is_kept_only_if_it_is_one(scripted: ScriptedServer, code: object) -> None:
    """R22: anything else may hold the input, and goes neither to the ledger nor to the log."""
    error = {"error": {"message": "hello", "type": "server_error", "code": code}}
    scripted.answers = [
        Answer(500, json.dumps(error).encode(), {"content-type": "application/json"})
    ]

    with pytest.raises(FailureError) as caught:
        embed(scripted, "hello")

    kept = "12" if code == 12 else "server_error"
    assert caught.value.failure.message == f"the provider answered 500 {kept}"


def test_redirect_is_not_followed(scripted: ScriptedServer) -> None:
    """R22 R84: it would take the text and the key to another host."""
    with ScriptedServer() as other:
        scripted.answers = [Answer(307, b"", {"location": f"{other.url}/v1/embeddings"})]

        with pytest.raises(FailureError) as caught:
            embed(scripted, "hello")

        assert other.asked == []
    assert caught.value.failure == Failure(FailureKind.CONFIGURATION, "the provider answered 307")


@pytest.mark.parametrize("status", [302, 401, 403, 404, 405, 410, 415])
def test_refusal_by_content_is_told_from_a_wrong_setting(
    scripted: ScriptedServer, status: int
) -> None:
    """R10 R24 R35: a firewall answers as it likes for one text; a harmless one passes."""
    blocked = Answer(status, b"<html>")
    scripted.answers = [blocked, answer([item(0, [1, 2])]), blocked]

    with pytest.raises(RefusedRequestError) as caught:
        embed(scripted, "<script>")

    assert caught.value.failure == Failure(
        FailureKind.INVALID_INPUT, f"the provider answered {status}"
    )
    assert [json.loads(one.body)["input"] for one in scripted.asked] == [
        ["<script>"],
        ["probe"],
        ["<script>"],
    ]


def test_text_that_passes_after_a_harmless_one_gets_its_vector(scripted: ScriptedServer) -> None:
    """R35: a gateway that is being replaced answers 404 for a moment."""
    scripted.answers = [Answer(404, b""), answer([item(0, [5, 6])]), answer([item(0, [1, 2])])]

    assert [one.tolist() for one in embed(scripted, "hello").vectors] == [[1, 2]]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, FailureKind.CONFIGURATION),
        (422, FailureKind.CONFIGURATION),
        (429, FailureKind.THROTTLED),
        (408, FailureKind.TIMEOUT),
        (500, FailureKind.PROVIDER_ERROR),
    ],
)
def test_without_a_harmless_text_that_passes_no_text_is_refused(
    scripted: ScriptedServer, status: int, kind: FailureKind
) -> None:
    """R24: what the harmless text fails with is what all of them fail with."""
    scripted.answers = [Answer(404, b""), Answer(status, b"")]

    with pytest.raises(FailureError) as caught:
        embed(scripted, "hello")

    assert caught.value.failure.kind is kind
    assert not isinstance(caught.value, RefusedRequestError)


def test_busy_provider_tells_when_it_is_back(scripted: ScriptedServer) -> None:
    """R23: Retry-After of a 503, too."""
    scripted.answers = [Answer(503, b"", {"retry-after": "40"})]

    with pytest.raises(FailureError) as caught:
        embed(scripted, "hello")

    assert caught.value.failure == Failure(
        FailureKind.PROVIDER_ERROR, "the provider answered 503", 40, is_refused=True
    )


def test_request_above_the_credit_that_is_left_refuses_no_text(scripted: ScriptedServer) -> None:
    """R24 R35: a harmless text would pass, and the text would be rejected for its price."""
    scripted.answers = [Answer(402, b""), answer([item(0, [1, 2])]), Answer(402, b"")]

    with pytest.raises(FailureError) as caught:
        embed(scripted, "hello")

    assert caught.value.failure == Failure(FailureKind.CONFIGURATION, "the provider answered 402")
    assert not caught.value.failure.kind.spends_attempt
    assert len(scripted.asked) == 1


def test_quota_told_by_the_type_is_a_configuration_failure(scripted: ScriptedServer) -> None:
    """R24 R35: the code may be missing, or say something else; no smaller text is tried."""
    for code in (None, "rate_limit_exceeded"):
        error = {"error": {"message": "no", "type": "insufficient_quota", "code": code}}
        scripted.answers = [
            Answer(429, json.dumps(error).encode(), {"content-type": "application/json"})
        ]

        with pytest.raises(FailureError) as caught:
            embed(scripted, "hello")

        assert caught.value.failure.kind is FailureKind.CONFIGURATION
    assert len(scripted.asked) == 2


@pytest.mark.parametrize(("limit", "is_too_large"), [("5", True), ("100", False)])
def test_request_above_the_limit_in_the_headers_is_to_be_split(
    scripted: ScriptedServer, limit: str, is_too_large: bool
) -> None:
    """R10 R23: a plain 429 that no waiting helps."""
    headers = {"x-ratelimit-limit-tokens": limit, "x-ratelimit-remaining-tokens": "0"}
    scripted.answers = [Answer(429, b"{}", headers)]

    with pytest.raises(FailureError) as caught:
        embed(scripted, "x" * 20, "x" * 20)

    assert isinstance(caught.value, TooLargeRequestError) is is_too_large


def test_single_text_above_the_limit_in_the_headers_is_throttled(scripted: ScriptedServer) -> None:
    """R23 R35: some count in thousands; no document is given up for that."""
    headers = {"x-ratelimit-limit-tokens": "5", "x-ratelimit-remaining-tokens": "0"}
    scripted.answers = [Answer(429, b"{}", headers)]

    with pytest.raises(FailureError) as caught:
        embed(scripted, "x" * 40)

    assert caught.value.failure.kind is FailureKind.THROTTLED


@pytest.mark.parametrize("charset", ["utf-16", "base64", "idna", "undefined", "no-such-one"])
def test_error_has_its_kind_whatever_its_charset_is(scripted: ScriptedServer, charset: str) -> None:
    """R22 R23: by its status and its code."""
    headers = {"content-type": f"application/json; charset={charset}", "retry-after": "7"}
    scripted.answers = [Answer(429, b'{"error": {"code": "busy"}}', headers)]

    with pytest.raises(FailureError) as caught:
        embed(scripted, "hello")

    assert caught.value.failure == Failure(
        FailureKind.THROTTLED, "the provider answered 429 busy", 7, is_refused=True
    )


@pytest.mark.parametrize("body", [b'["x"]', b'"x"', b"null", b"5", b"\xff\xfe\x00", b"[" * 100_000])
def test_error_has_its_kind_whatever_its_body_is(scripted: ScriptedServer, body: bytes) -> None:
    """R22: the status says enough."""
    scripted.answers = [Answer(429, body, {"content-type": "application/json"})]

    with pytest.raises(FailureError, match=r"^throttled: the provider answered 429$"):
        embed(scripted, "hello")
