"""Search from the command line: what is asked and what is shown."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ops.deployment import Deployment
from ops.output import UsageError, as_text
from ops.searching import SHOWN_CHARACTERS, Found, FoundDocument, find
from tests.builders import make_source, make_target
from tests.unit.adapters.scripted_server import Answer, ScriptedServer


@pytest.mark.parametrize(
    ("query", "condition", "message"),
    [
        ("anything", "author", "--filter is FIELD=VALUE, not 'author'"),
        ("anything", "=aesop", "--filter is FIELD=VALUE, not '=aesop'"),
        ("anything", "writer=aesop", "no source has the metadata writer; there is: author"),
        (" ", "author=aesop", "the query is empty"),
    ],
)
def test_search_without_an_answer_is_refused_before_anything_is_paid(
    deployment: Deployment, query: str, condition: str, message: str
) -> None:
    """R48: the deployment here has neither a key nor an index to ask."""
    source = make_source(metadata={"author": "keyword"}).model_dump_json()
    known = replace(deployment, outputs=deployment.outputs | {"SourceArticlesSettings": source})

    with pytest.raises(UsageError, match=message):
        find(known, query, filters=[condition])


class _EmptyIndex:
    def call(self, *_: object, **__: object) -> dict[str, Any]:
        return {"hits": {"hits": []}}


def test_query_is_embedded_in_its_role(deployment: Deployment) -> None:
    """R17 R48: with the prefix, the fields and the format of the target's queries."""
    secrets = deployment.client("secretsmanager")
    secret = secrets.create_secret(Name="key", SecretString="the key")["ARN"]
    with ScriptedServer() as server:
        server.answers = [
            Answer(
                body=json.dumps({"data": [{"embedding": [0.5, -1]}]}).encode(),
                headers={"content-type": "application/json"},
            )
        ]
        target = make_target(
            provider="compatible",
            base_url=server.url,
            dimensions=2,
            encoding_format="none",
            query_prefix="query: ",
            query_extra_body={"input_type": "query"},
            document_extra_body={"input_type": "document"},
        ).model_dump_json()
        outputs = {"TargetDefaultSettings": target, "TargetDefaultApiKeySecretArn": secret}
        known = replace(deployment, outputs=deployment.outputs | outputs)
        vars(known)["index"] = _EmptyIndex()

        assert find(known, "a bird") == []

    assert json.loads(server.asked[0].body) == {
        "model": "text-embedding-3-small",
        "input": ["query: a bird"],
        "input_type": "query",
    }


def test_hit_is_one_short_line() -> None:
    """R48: whatever the text looks like."""
    text = "two\nlines " + 200 * "x"
    hit = FoundDocument(source="articles", document="a", score=0.91234, text=text, metadata={})

    [_, line] = as_text(Found(documents=(hit,))).splitlines()

    score, document, *rest = line.split(maxsplit=2)
    assert (score, document) == ("0.912", "a")
    assert rest[0].startswith("two lines xxx")
    assert rest[0].endswith("...")
    assert len(rest[0]) == SHOWN_CHARACTERS


def test_nothing_found_is_said() -> None:
    """R48: an empty answer is an answer."""
    assert as_text(Found(documents=())) == "nothing found"


def test_query_of_bedrock_needs_no_secret(deployment: Deployment) -> None:
    """R17 R48: IAM instead of a key, and the role of a query."""
    with ScriptedServer() as server:
        server.answers = [
            Answer(
                body=json.dumps({"embeddings": {"float": [[0.5] * 256]}}).encode(),
                headers={"content-type": "application/json"},
            )
        ]
        target = make_target(
            provider="bedrock", model="cohere.embed-v4:0", dimensions=256, base_url=server.url
        ).model_dump_json()
        known = replace(deployment, outputs=deployment.outputs | {"TargetDefaultSettings": target})
        vars(known)["index"] = _EmptyIndex()

        assert find(known, "a bird") == []

    sent = json.loads(server.asked[0].body)
    assert (sent["texts"], sent["input_type"]) == (["a bird"], "search_query")
