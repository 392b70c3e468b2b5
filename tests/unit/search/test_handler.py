"""What the handler answers to a wrong question, without an index."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from functions.core.entry import Hit
from functions.search import handler
from functions.search.process import Search
from tests.builders import make_source, make_target
from tests.handlers.conftest import Context


class NoIndex:
    """Nobody asks an index for a wrong question."""

    def behind(self, alias: str) -> Any:
        raise NotImplementedError

    def ask(self, index: str, question: object) -> list[Hit]:
        raise NotImplementedError


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Search(
        index=NoIndex(),
        vector_of=lambda *_: pytest.fail("nothing is embedded"),
        why_stopped=lambda _: None,
        targets={"default": make_target()},
        sources=[make_source(targets=("default",))],
    )
    monkeypatch.setattr(handler, "search", lambda: step)


@pytest.mark.usefixtures("wired")
@pytest.mark.parametrize("by_url", [True, False])
@pytest.mark.parametrize(
    "asked",
    [
        '{"query": "x", "sources": ["\\ud800"]}',
        '{"query": "x", "filters": ["\\ud800=1"]}',
        '{"query": "x", "not": ["\\ud800=1"]}',
        '{"query": "x", "target": "\\ud800"}',
        '{"query": "\\ud800"}',
        '{"query": "x", "cursor": "\\ud800"}',
        '{"query": "x", "mode": "\\ud800"}',
        '{"query": "x", "\\ud800": 1}',
        '"\\ud800"',
    ],
)
def test_half_a_character_is_a_wrong_question(asked: str, *, by_url: bool) -> None:
    """R51: the answer is UTF-8, as Lambda sends it; no error of the function."""
    event = {"requestContext": {}, "body": asked} if by_url else json.loads(asked)

    answer = handler.lambda_handler(event, Context())

    json.dumps(answer, ensure_ascii=False).encode()
    error = (json.loads(answer["body"]) if by_url else answer)["error"]
    assert error["status"] == 400


@pytest.mark.parametrize("is_encoded", [True, False])
@pytest.mark.parametrize("body", [{"query": "x"}, ["x"], 5, True, None, "", "5"])
def test_body_of_any_type_is_a_wrong_question(body: object, *, is_encoded: bool) -> None:
    """R51: as a person writes it who tries an event of the URL in the console."""
    event = {"requestContext": {}, "body": body, "isBase64Encoded": is_encoded}

    assert handler.lambda_handler(event, Context())["statusCode"] == 400


def test_function_that_lacks_its_settings_blames_no_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R51: a 400 would tell the application that it asked wrongly, and no alarm that it fails."""
    monkeypatch.delenv("TARGETS", raising=False)
    handler.search.cache_clear()

    with pytest.raises(ValidationError):
        handler.lambda_handler({"query": "x"}, Context())
