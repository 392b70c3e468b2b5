"""Bedrock over real HTTP: what boto3 sends, what each answer is worth, each error's kind."""

import json
import threading
from typing import Any

import boto3
import numpy as np
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from functions.adapters.bedrock_embedder import REQUESTS_AT_ONCE, BedrockEmbedder, folded
from functions.adapters.providers import make_embedder
from functions.core.failure import (
    Failure,
    FailureError,
    FailureKind,
    RefusedRequestError,
    TooLargeRequestError,
)
from functions.core.ports import HARMLESS, Embedded, Embedder
from local.provider.faults import Fault, FaultKind
from local.provider.server import ModelServer
from tests.builders import make_target
from tests.unit.adapters.scripted_server import Answer, Asked, ScriptedServer

COHERE, TITAN = "us.cohere.embed-v4:0", "amazon.titan-embed-text-v2:0"
V3 = "cohere.embed-multilingual-v3"
SESSION = boto3.Session("an-id", "a-secret", "a-token", region_name="eu-west-1")
COUNT = "x-amzn-bedrock-input-token-count"


def bedrock(url: str, model: str = COHERE, *, is_query: bool = False, **changes: Any) -> Embedder:
    target = make_target(
        **{"provider": "bedrock", "model": model, "dimensions": 256, "base_url": url} | changes
    )
    return make_embedder(target, lambda _: "", is_query=is_query, client=SESSION.client)


def answer_of(fields: object, headers: dict[str, str] | None = None, status: int = 200) -> Answer:
    named = {"content-type": "application/json", **(headers or {})}
    return Answer(status, json.dumps(fields).encode(), named)


def refused(server: ScriptedServer, *, text: str = "hello", timeout: float = 5) -> FailureError:
    with pytest.raises(FailureError) as caught:
        bedrock(server.url).embed([text], timeout_seconds=timeout)
    return caught.value


@pytest.mark.parametrize(
    ("model", "is_query", "path", "body"),
    [
        (
            COHERE,
            False,
            "/model/us.cohere.embed-v4%3A0/invoke",
            {
                "texts": ["hello"],
                "input_type": "search_document",
                "embedding_types": ["float"],
                "output_dimension": 256,
                "truncate": "NONE",
            },
        ),
        (
            V3,
            True,
            f"/model/{V3}/invoke",
            {
                "texts": ["hello"],
                "input_type": "search_query",
                "embedding_types": ["float"],
                "truncate": "NONE",
            },
        ),
        (
            TITAN,
            True,
            "/model/amazon.titan-embed-text-v2%3A0/invoke",
            {"inputText": "hello", "dimensions": 256, "normalize": True},
        ),
    ],
)
def test_request_is_that_of_the_model_and_of_its_role(
    scripted: ScriptedServer, model: str, is_query: bool, path: str, body: dict[str, Any]
) -> None:
    """R17: documents and queries, shortened where the model can."""
    with pytest.raises(FailureError):
        bedrock(scripted.url, model, is_query=is_query).embed(["hello"], timeout_seconds=5)

    [asked] = scripted.asked
    assert (asked.method, asked.path, json.loads(asked.body)) == ("POST", path, body)
    assert asked.headers["content-type"] == asked.headers["accept"] == "application/json"


def test_signature_is_that_of_what_arrives(scripted: ScriptedServer) -> None:
    """R17 R84: nothing that is signed changes on its way through our own transport."""
    with pytest.raises(FailureError):
        bedrock(scripted.url, region="eu-central-1").embed(["hé"], timeout_seconds=5)

    [asked] = scripted.asked
    scheme, *parts = asked.headers["authorization"].split(" ")
    given = dict(part.rstrip(",").split("=", 1) for part in parts)
    names = given["SignedHeaders"].split(";")
    again = AWSRequest(
        "POST",
        f"{scripted.url}{asked.path}",
        headers={name: asked.headers[name] for name in names},
        data=asked.body,
    )
    again.context["timestamp"] = asked.headers["x-amz-date"]
    signer = SigV4Auth(Credentials("an-id", "a-secret", "a-token"), "bedrock", "eu-central-1")
    text = signer.string_to_sign(again, signer.canonical_request(again))
    assert scheme == "AWS4-HMAC-SHA256"
    assert "/eu-central-1/bedrock/" in given["Credential"]
    assert given["Signature"] == signer.signature(text, again)


VECTOR = [0.5] * 256


@pytest.mark.parametrize(
    ("model", "fields", "headers", "tokens"),
    [
        pytest.param(COHERE, {"embeddings": {"float": [VECTOR]}}, {COUNT: "3"}, 3, id="by type"),
        pytest.param(COHERE, {"embeddings": [VECTOR]}, {COUNT: "3"}, 3, id="plain list"),
        pytest.param(COHERE, {"embeddings": [VECTOR]}, {}, 2, id="no count"),
        pytest.param(COHERE, {"embeddings": [VECTOR]}, {COUNT: "many"}, 2, id="no number"),
        pytest.param(COHERE, {"embeddings": [VECTOR]}, {COUNT: "99999"}, 2, id="impossible"),
        pytest.param(
            TITAN, {"embedding": VECTOR, "inputTextTokenCount": 4}, {COUNT: "3"}, 4, id="titan"
        ),
        pytest.param(TITAN, {"embedding": VECTOR}, {COUNT: "3"}, 3, id="titan, by its header"),
    ],
)
def test_answer_of_every_shape_is_read(
    scripted: ScriptedServer,
    model: str,
    fields: dict[str, Any],
    headers: dict[str, str],
    tokens: int,
) -> None:
    """R17: with the tokens of the header, or of our own count."""
    scripted.answers = [answer_of(fields, headers)]

    embedded = bedrock(scripted.url, model).embed(["hello"], timeout_seconds=5)

    assert [vector.tolist() for vector in embedded.vectors] == [VECTOR]
    assert (embedded.tokens, embedded.requests) == (tokens, 1)


@pytest.mark.parametrize(
    "body",
    [b"<html></html>", b"[]", b"{}", b'{"embeddings": {"int8": [[1]]}}', b'{"embeddings": []}'],
)
def test_answer_without_vectors_is_the_provider_s_error(
    scripted: ScriptedServer, body: bytes
) -> None:
    """R22 R35: no document is the cause of it."""
    scripted.answers = [Answer(body=body, headers={"content-type": "application/json"})]

    failure = refused(scripted).failure

    assert failure.kind is FailureKind.PROVIDER_ERROR
    assert failure.message.startswith("the provider is wrong")


def test_wrong_vector_fails_alone(scripted: ScriptedServer) -> None:
    """R35: the others of its answer are kept."""
    vectors = [VECTOR, [0.5] * 255, [0.0] * 256]
    scripted.answers = [answer_of({"embeddings": {"float": vectors}})]

    results = bedrock(scripted.url).embed(["a", "b", "c"], timeout_seconds=5).results

    assert [isinstance(one, Failure) for one in results] == [False, True, True]


KINDS = FailureKind


@pytest.mark.parametrize(
    ("status", "code", "kind", "error"),
    [
        (429, "ThrottlingException", KINDS.THROTTLED, FailureError),
        (400, "ServiceQuotaExceededException", KINDS.THROTTLED, FailureError),
        (429, "ModelNotReadyException", KINDS.THROTTLED, FailureError),
        (408, "ModelTimeoutException", KINDS.TIMEOUT, FailureError),
        (424, "ModelErrorException", KINDS.PROVIDER_ERROR, FailureError),
        (500, "InternalServerException", KINDS.PROVIDER_ERROR, FailureError),
        (503, "ServiceUnavailableException", KINDS.PROVIDER_ERROR, FailureError),
        (400, "ValidationException", KINDS.INVALID_INPUT, RefusedRequestError),
        (413, "RequestEntityTooLarge", KINDS.INVALID_INPUT, TooLargeRequestError),
        (403, "AccessDeniedException", KINDS.CONFIGURATION, FailureError),
        (403, "ExpiredTokenException", KINDS.CONFIGURATION, FailureError),
        (404, "ResourceNotFoundException", KINDS.CONFIGURATION, FailureError),
        (302, "", KINDS.CONFIGURATION, FailureError),
    ],
)
def test_refusal_gets_the_kind_that_openai_s_has(
    scripted: ScriptedServer, status: int, code: str, kind: FailureKind, error: type[Exception]
) -> None:
    """R22 R24: by what AWS calls it; sent once, as the queue does the waiting.

    Where a setting seems wrong, a harmless text is sent too.
    """
    headers = {"x-amzn-errortype": code, "retry-after": "7"}
    scripted.answers = [answer_of({"message": "of hello"}, headers, status)]

    found = refused(scripted)

    assert (found.failure.kind, isinstance(found, error)) == (kind, True)
    assert len(scripted.asked) == (2 if kind is KINDS.CONFIGURATION else 1)
    is_passing = kind in (KINDS.THROTTLED, KINDS.TIMEOUT, KINDS.PROVIDER_ERROR)
    assert found.failure.retry_after_seconds == (7 if is_passing else None)
    # A message may quote the text; only that of the harmless one is told.
    assert ("hello" in found.failure.message) is (kind is KINDS.CONFIGURATION)


def test_refusal_of_a_harmless_text_says_why(scripted: ScriptedServer) -> None:
    """R24: on-demand calls of a model that is called by a profile alone, say."""
    why = "on-demand throughput isn't supported"
    scripted.answers = [
        answer_of({"message": why}, {"x-amzn-errortype": "ValidationException"}, 400)
    ]

    assert why in refused(scripted, text=HARMLESS).failure.message


class _Firewall(ScriptedServer):
    """Answers with a status where a text holds a word, else with vectors."""

    status = 403

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        body = json.loads(asked.body)
        texts = body.get("texts") or [body["inputText"]]
        if any("<script>" in text for text in texts):
            return answer_of({"message": f"no: {texts}"}, {}, self.status)
        vectors = [VECTOR for _ in texts]
        return answer_of({"embeddings": {"float": vectors}, "embedding": VECTOR})


def test_request_above_the_credit_that_is_left_refuses_no_text() -> None:
    """R24 R35: a harmless text would pass, and the text would be rejected for its price."""
    with _Firewall() as server:
        server.status = 402
        with pytest.raises(FailureError) as caught:
            bedrock(server.url, COHERE).embed(["<script>"], timeout_seconds=5)

    assert caught.value.failure.kind is KINDS.CONFIGURATION
    assert len(server.asked) == 1


@pytest.mark.parametrize("model", [COHERE, TITAN])
@pytest.mark.parametrize("status", [302, 403, 404, 405])
def test_refusal_by_content_is_told_from_a_wrong_setting(model: str, status: int) -> None:
    """R10 R24 R35: a firewall answers as it likes for one text; a harmless one passes."""
    with _Firewall() as server:
        server.status = status
        with pytest.raises(RefusedRequestError) as caught:
            bedrock(server.url, model).embed(["<script>"], timeout_seconds=5)

    assert caught.value.failure == Failure(
        FailureKind.INVALID_INPUT, f"the provider answered {status} {status}"
    )


def test_text_of_titan_that_a_firewall_refuses_stops_no_other() -> None:
    """R10 R13: it fails alone."""
    texts = [f"text {n}" for n in range(12)]
    texts[1] = "<script>"
    with _Firewall() as server:
        results = bedrock(server.url, TITAN).embed(texts, timeout_seconds=20).results

    assert [n for n, one in enumerate(results) if isinstance(one, Failure)] == [1]


@pytest.mark.parametrize("model", [COHERE, TITAN])
@pytest.mark.parametrize(
    "body",
    [
        b'["x"]',
        b'"x"',
        b"null",
        b"5",
        b"<html>",
        b"\xff\xfe\x00",
        b'{"__type": ["x"], "code": 5, "message": {"a": 1}}',
        b"[" * 100_000,
    ],
)
def test_error_has_its_kind_whatever_its_body_is(
    scripted: ScriptedServer, model: str, body: bytes
) -> None:
    """R22 R23: by its status."""
    scripted.answers = [Answer(429, body, {"retry-after": "7"})]

    with pytest.raises(FailureError) as caught:
        bedrock(scripted.url, model).embed(["hello"], timeout_seconds=5)

    assert caught.value.failure == Failure(
        FailureKind.THROTTLED, "the provider answered 429 429", 7, is_refused=True
    )


def test_deadline_is_that_of_the_whole_answer(scripted: ScriptedServer) -> None:
    """R22: no answer in time is a timeout."""
    scripted.answers = [Answer(silent=True)]

    assert refused(scripted, timeout=0.3).failure.kind is FailureKind.TIMEOUT


def test_answer_beyond_all_that_was_asked_for_is_not_read(scripted: ScriptedServer) -> None:
    """R35: nothing a server sends fills the memory of a run."""
    scripted.answers = [Answer(body=b"[" + b"1," * 400_000)]

    failure = refused(scripted).failure

    assert failure.kind is FailureKind.PROVIDER_ERROR
    assert "more than" in failure.message


def test_unreachable_endpoint_is_the_provider_s_error() -> None:
    """R22: the breaker counts it."""
    with pytest.raises(FailureError) as caught:
        bedrock("http://127.0.0.1:9").embed(["hello"], timeout_seconds=5)

    assert caught.value.failure.kind is FailureKind.PROVIDER_ERROR


def test_missing_credentials_are_a_configuration_failure(
    monkeypatch: pytest.MonkeyPatch, scripted: ScriptedServer
) -> None:
    """R24: they charge no document."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    target = make_target(
        provider="bedrock", model=COHERE, dimensions=256, base_url=scripted.url, region="eu-west-1"
    )

    with pytest.raises(FailureError) as caught:
        BedrockEmbedder(target, boto3.Session().client).embed(["hello"], timeout_seconds=5)

    assert caught.value.failure.kind is FailureKind.CONFIGURATION
    assert scripted.asked == []


class _Together(ScriptedServer):
    """Answers only when so many requests wait at the same time, and counts the most."""

    def __init__(self) -> None:
        super().__init__()
        self.most = self._waiting = 0
        self._lock = threading.Lock()
        self._barrier = threading.Barrier(REQUESTS_AT_ONCE)

    def answer(self, asked: Asked) -> Answer:
        with self._lock:
            self._waiting += 1
            self.most = max(self.most, self._waiting)
        self._barrier.wait(10)
        with self._lock:
            self._waiting -= 1
        number = int(json.loads(asked.body)["inputText"])
        return answer_of({"embedding": [number + 1.0] * 256, "inputTextTokenCount": 1})


def test_texts_of_titan_are_asked_for_several_at_once_and_keep_their_order() -> None:
    """R09 R17: as many requests as texts, eight of them at a time."""
    texts = [str(number) for number in range(REQUESTS_AT_ONCE * 3)]
    with _Together() as server:
        embedder = bedrock(server.url, TITAN)
        embedded = embedder.embed(texts, timeout_seconds=20)

    assert [vector[0] for vector in embedded.vectors] == [n + 1.0 for n in range(len(texts))]
    assert (embedded.tokens, embedded.requests) == (len(texts), len(texts))
    assert server.most == REQUESTS_AT_ONCE


def test_refused_text_of_titan_leaves_the_others_their_vectors(model_server: ModelServer) -> None:
    """R10 R13: with the stand-in of one-machine mode, which refuses what it is told to."""
    model_server.faults(Fault(FaultKind.POISON, marker="xyzzy"))
    url = model_server.origin

    results = bedrock(url, TITAN).embed(["a", "an xyzzy", "b"], timeout_seconds=20).results

    assert [isinstance(one, Failure) and one.kind for one in results] == [
        False,
        FailureKind.INVALID_INPUT,
        False,
    ]


def test_first_throttled_text_of_titan_stops_those_that_wait(model_server: ModelServer) -> None:
    """R13 R23: what was paid is kept; what was not sent says so."""
    model_server.faults(Fault(FaultKind.RATE_LIMITED, seconds=3, share=0.5, seed=2))
    texts = [f"text {number}" for number in range(32)]

    embedded = bedrock(model_server.origin, TITAN).embed(texts, timeout_seconds=20)

    failures = [one for one in embedded.results if isinstance(one, Failure)]
    assert {one.kind for one in failures} == {FailureKind.THROTTLED}
    assert failures[0].retry_after_seconds == 3
    assert embedded.requests == 32 - sum(not one.is_asked for one in failures) < 32


def error(kind: FailureKind, base: type[FailureError] = FailureError) -> FailureError:
    return base(Failure(kind, "it failed"))


REFUSED = error(FailureKind.INVALID_INPUT, RefusedRequestError)
SLOW, BUSY = error(FailureKind.TIMEOUT), error(FailureKind.THROTTLED)
PAID = Embedded([np.ones(2, np.float32)], 5)


@pytest.mark.parametrize(
    ("answers", "raised"),
    [
        ([REFUSED, REFUSED], REFUSED),
        ([REFUSED, SLOW], SLOW),
        ([REFUSED, SLOW, BUSY], BUSY),
        ([SLOW, error(FailureKind.CONFIGURATION)], None),
    ],
)
def test_without_any_vector_the_whole_request_fails(
    answers: list[FailureError], raised: FailureError | None
) -> None:
    """R10 R24: with what concerns all of its texts; a refusal is judged alone."""
    with pytest.raises(FailureError) as caught:
        folded(answers, ["hello"] * len(answers))

    assert caught.value is (raised or answers[-1])


def test_beside_a_vector_a_failure_is_that_of_its_text() -> None:
    """R13 R19: the tokens are those of the vectors, and of what may be billed all the same."""
    assert folded([PAID, BUSY, PAID, SLOW], ["hello"] * 4) == Embedded(
        [PAID.results[0], BUSY.failure, PAID.results[0], SLOW.failure], 12, requests=4
    )
