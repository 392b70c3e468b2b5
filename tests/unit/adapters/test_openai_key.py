"""The provider's key: from the secret, read once, and once more when it is refused."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from functions.adapters.openai_embedder import OpenAiEmbedder
from functions.adapters.secret import ApiKey
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ports import HARMLESS
from local.provider.server import ModelServer
from tests.builders import make_target
from tests.contract.engines import client
from tests.unit.adapters.scripted_server import Answer, ScriptedServer

NAME = "embedq/key"


@pytest.fixture
def secrets() -> Iterator[Any]:
    with mock_aws():
        yield client("secretsmanager")


def embedder(server: ModelServer, secrets: Any) -> OpenAiEmbedder:
    return OpenAiEmbedder(make_target(base_url=server.url), ApiKey(secrets, NAME))


@pytest.mark.parametrize(
    "stored",
    ["the key", "  the key\n", '{"api_key": "the key"}', '{"api_key": " the key ", "more": 1}'],
)
def test_key_is_read_in_each_form(secrets: Any, stored: str) -> None:
    """R84: a bare key, or what the console's key/value editor stores."""
    secrets.create_secret(Name=NAME, SecretString=stored)

    assert ApiKey(secrets, NAME)(False) == "the key"


def test_key_is_read_once_and_anew_when_asked(secrets: Any) -> None:
    """R84: a warm process does not ask Secrets Manager for every batch."""
    secrets.create_secret(Name=NAME, SecretString="old")
    key = ApiKey(secrets, NAME)
    assert key(False) == "old"

    secrets.put_secret_value(SecretId=NAME, SecretString="new")

    assert [key(False), key(True), key(False)] == ["old", "new", "new"]


@pytest.mark.parametrize("stored", ["  ", "{}", '{"api_key": ""}', '{"other": "key"}'])
def test_secret_without_a_key_is_a_configuration_failure(secrets: Any, stored: str) -> None:
    """R24: no document is charged for it."""
    secrets.create_secret(Name=NAME, SecretString=stored)

    with pytest.raises(FailureError) as caught:
        ApiKey(secrets, NAME)(False)

    assert caught.value.failure == Failure(
        FailureKind.CONFIGURATION, "the secret embedq/key holds no key: fill it"
    )


def test_unreadable_secret_is_a_configuration_failure(secrets: Any) -> None:
    """R24: absent, or bytes instead of text."""
    secrets.create_secret(Name="bytes", SecretBinary=b"the key")

    for name in ("absent", "bytes"):
        with pytest.raises(FailureError) as caught:
            ApiKey(secrets, name)(False)
        assert caught.value.failure == Failure(
            FailureKind.CONFIGURATION,
            f"the secret {name} with the provider's key cannot be read",
        )


def test_rotated_key_is_fetched_once_and_used(model_server: ModelServer, secrets: Any) -> None:
    """R24: with a harmless text, a wrong key costs two refused requests; a rotation one."""
    secrets.create_secret(Name=NAME, SecretString="former key")
    provider = embedder(model_server, secrets)
    with pytest.raises(FailureError):
        provider.embed(["text"], timeout_seconds=5)

    secrets.put_secret_value(SecretId=NAME, SecretString="the key")

    assert len(provider.embed(["text"], timeout_seconds=5).vectors) == 1
    assert len(provider.embed(["text"], timeout_seconds=5).vectors) == 1
    assert model_server.counts()["statuses"] == {"401": 3, "200": 2}


def test_key_that_is_refused_twice_is_a_configuration_failure(
    model_server: ModelServer, secrets: Any
) -> None:
    """R24: another key that is wrong too is tried once, and not for ever."""
    secrets.create_secret(Name=NAME, SecretString="wrong")
    read = iter(["wrong", "wrong too"])
    provider = OpenAiEmbedder(make_target(base_url=model_server.url), lambda _: next(read))

    with pytest.raises(FailureError) as caught:
        provider.embed(["text"], timeout_seconds=5)

    assert caught.value.failure == Failure(
        FailureKind.CONFIGURATION, "the provider answered 401 invalid_api_key"
    )
    assert model_server.counts()["statuses"] == {"401": 2}


def test_unchanged_key_is_tried_again_with_a_harmless_text_alone(
    model_server: ModelServer, secrets: Any
) -> None:
    """R24: the same key would be refused again; only of a text it could be the content."""
    secrets.create_secret(Name=NAME, SecretString="wrong")

    with pytest.raises(FailureError):
        embedder(model_server, secrets).embed(["text"], timeout_seconds=5)

    assert model_server.counts()["statuses"] == {"401": 2}


def test_missing_secret_is_a_failure_of_the_request_and_not_of_the_process(
    model_server: ModelServer, secrets: Any
) -> None:
    """R15 R24: deletes need no key."""
    provider = embedder(model_server, secrets)

    with pytest.raises(FailureError, match="configuration: the secret embedq/key"):
        provider.embed(["text"], timeout_seconds=5)


@pytest.mark.parametrize(
    ("status", "code"),
    [(403, None), (404, None), (402, None), (429, "insufficient_quota"), (400, "API_KEY_INVALID")],
)
def test_replaced_key_is_used_whatever_the_refusal_was(
    scripted: ScriptedServer, secrets: Any, status: int, code: str | None
) -> None:
    """R24: providers say it in different ways; the harmless text of a probe shows it."""
    refusal = json.dumps({"error": {"message": "no", "type": None, "code": code}}).encode()
    json_type = {"content-type": "application/json"}
    vector = json.dumps({"data": [{"index": 0, "embedding": [1.0] * 16}]}).encode()
    secrets.create_secret(Name=NAME, SecretString="former key")
    provider = OpenAiEmbedder(make_target(base_url=scripted.url), ApiKey(secrets, NAME))
    scripted.answers = [Answer(status, refusal, json_type)]
    with pytest.raises(FailureError):
        provider.embed([HARMLESS], timeout_seconds=5)

    secrets.put_secret_value(SecretId=NAME, SecretString="the key")
    scripted.answers = [Answer(status, refusal, json_type), Answer(200, vector, json_type)]

    assert len(provider.embed([HARMLESS], timeout_seconds=5).vectors) == 1
    assert [one.headers["authorization"] for one in scripted.asked[-2:]] == [
        "Bearer former key",
        "Bearer the key",
    ]
