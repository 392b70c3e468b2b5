"""docs/searching.md: what a reader copies works as it stands there."""

import ast
import json
import re
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import embedq
from functions.core.entry_shape import properties
from functions.core.search import SearchAnswer, SearchRequest, SearchResult
from ops.quality_files import read_json_lines
from tests.contract.index_engines import entry, index_engine, opensearch, vector
from tests.repo.checkout import ROOT

PAGE = (ROOT / "docs/searching.md").read_text()


def block(mark: str) -> Any:
    """Return the JSON between a mark and its end."""
    [text] = re.findall(rf"<!-- {mark} -->\n```json\n(.*?)```", PAGE, re.DOTALL)
    return json.loads(text)


def table(title: str) -> set[str]:
    """Return what the first column of the first table of a section names."""
    [section] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)", cell)}


def test_fields_of_request_and_answer_are_those_of_the_models() -> None:
    """R51: every one, and no other."""
    asked = {field.alias or name for name, field in SearchRequest.model_fields.items()}
    assert table("The function") == asked | set(SearchAnswer.model_fields)
    for name in SearchResult.model_fields:
        assert f"`{name}`" in PAGE


def test_request_of_the_page_is_accepted() -> None:
    """R51: as JSON."""
    [text] = re.findall(r"```json\n(\{\"query\": \"a clever.*?)```", PAGE, re.DOTALL)

    assert SearchRequest.model_validate_json(text).size == 5


def test_judgments_of_the_page_are_read(tmp_path: Path) -> None:
    """R52: as they stand there."""
    [text] = re.findall(r"<!-- judgments -->\n```json\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "judgments.jsonl"
    file.write_text(text)

    assert [len(one.relevant) for one in read_json_lines(file)] == [2, 1]


def test_names_of_the_client_are_those_of_the_package() -> None:
    """R51: every one, with the arguments that the page passes."""
    [code] = re.findall(r"## The client\n\n```python\n(.*?)```", PAGE, re.DOTALL)
    [names] = re.findall(r"from embedq import (.*)", code)

    assert {*names.split(", "), "EmbeddingPipeline"} == set(embedq.__all__)
    for call in ast.walk(ast.parse(code)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            function = getattr(embedq, call.func.id, None)
            if function is not None:
                keywords = {str(one.arg): None for one in call.keywords}
                signature(function).bind(*call.args, **keywords)


def test_fields_of_the_entry_are_those_of_the_mapping() -> None:
    """R51: what an application may read."""
    mapped = set(properties(dimensions=4, metadata={}))

    assert table("The entry") == mapped


def test_policy_of_the_page_names_what_a_search_calls() -> None:
    """R84: nothing but one function and the outputs of one stack."""
    actions = {one["Action"]: one["Resource"] for one in block("policy")["Statement"]}

    assert set(actions) == {"lambda:InvokeFunction", "cloudformation:DescribeStacks"}


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_raw_query_of_the_page_finds_the_document(request: pytest.FixtureRequest) -> None:
    """R51: by the read alias, with a vector and a filter of one's own."""
    asked = json.loads(
        json.dumps(block("raw query")).replace("metadata.author", "metadata.language")
    )
    knn = asked["query"]["nested"]["query"]["knn"]["chunks.vector"]
    knn["vector"] = [1, 0, 0, 0]
    with index_engine(request, "opensearch") as engine:
        found = entry("a", vector(1, 0, 0, 0), metadata={"language": "aesop"})
        engine.index.write([found, entry("b")], searchable_now=True)
        answer = opensearch(request).call("POST", f"{engine.name}-read/_search", asked)

    [hit] = answer["hits"]["hits"]
    assert hit["_source"]["document_id"] == "a"
    [chunk] = hit["inner_hits"]["chunks"]["hits"]["hits"]
    assert chunk["_source"]["text"] == "t0"
