"""Judgments from files: what is read, and what is refused with its line."""

from pathlib import Path

import pytest

from ops.output import UsageError
from ops.quality import Judgment
from ops.quality_files import read_json_lines, read_trec

QRELS = "q1 0 a 2\nq1 0 b 0\n\nq2 0 c 1\nq3 0 d 0\n"
QUERIES = "q1\tfirst question\nq2\tsecond question\nq3\tthird\nq4\tunjudged\n"


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_json_lines_name_documents_or_their_grades(tmp_path: Path) -> None:
    """R52: an id of its own where a line has one; empty lines and no relevant document are none."""
    text = (
        '\ufeff{"query": " one ", "relevant": ["a", "b"]}\n\n'
        '{"query": "two", "relevant": {"c": 2, "d": 0}, "id": "second"}\n'
        '{"query": "three", "relevant": []}\n'
    )

    assert read_json_lines(written(tmp_path, "j.jsonl", text)) == [
        Judgment("1", "one", {"a": 1, "b": 1}),
        Judgment("second", "two", {"c": 2}),
    ]


def test_qrels_of_trec_with_their_queries(tmp_path: Path) -> None:
    """R52: a grade of 0 is not relevant; a question without any relevant one is left out."""
    qrels = written(tmp_path, "qrels", QRELS)
    queries = written(tmp_path, "queries", QUERIES)

    assert read_trec(qrels, queries) == [
        Judgment("q1", "first question", {"a": 2}),
        Judgment("q2", "second question", {"c": 1}),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"query": "a", "relevant": ["x"]}\nnot json\n', "j, line 2: Invalid JSON"),
        ('{"query": "", "relevant": ["x"]}\n', "j, line 1: query: String should have at least"),
        ('{"query": "a"}\n', "j, line 1: relevant: Field required; a line is"),
        ('{"query": "a", "relevant": {"x": -1}}\n', "j, line 1: relevant"),
        ('{"query": "a", "relevant": ["x"], "id": "2"}\n' * 2, "line 2: the id 2 stands on a line"),
        ("\n", "j names no relevant document"),
    ],
)
def test_wrong_json_lines_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """R52: with the line, and what one looks like."""
    with pytest.raises(UsageError) as caught:
        read_json_lines(written(tmp_path, "j", text))

    assert message in caught.value.message


@pytest.mark.parametrize(
    ("qrels", "queries", "message"),
    [
        ("q1 0 a\n", QUERIES, "qrels, line 1: a line is: query id, 0, document id, grade"),
        ("q1 0 a best\n", QUERIES, "qrels, line 1: a line is"),
        (QRELS, "q1 first\n", "queries, line 1: a line is: query id, a tab"),
        (QRELS, "q1\tfirst\n", "queries has no query q2"),
        ("q3 0 d 0\n", QUERIES, "qrels names no relevant document"),
    ],
)
def test_wrong_qrels_are_refused(tmp_path: Path, qrels: str, queries: str, message: str) -> None:
    """R52: no question is lost in silence."""
    with pytest.raises(UsageError) as caught:
        read_trec(written(tmp_path, "qrels", qrels), written(tmp_path, "queries", queries))

    assert message in caught.value.message


def test_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    """R52: in words."""
    file = tmp_path / "j"
    file.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(UsageError, match="cannot be read"):
        read_json_lines(file)
