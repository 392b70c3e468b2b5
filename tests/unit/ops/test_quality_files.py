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


def test_highest_grade_and_those_below_zero_are_read(tmp_path: Path) -> None:
    """R52: TREC marks junk with a negative grade."""
    qrels = written(tmp_path, "qrels", "q1 0 a 1000\nq1 0 b -2\n")
    lines = written(tmp_path, "j", '{"query": "one", "relevant": {"a": 1000}}\n')

    [of_trec] = read_trec(qrels, written(tmp_path, "queries", QUERIES))
    [of_lines] = read_json_lines(lines)

    assert of_trec.relevant == of_lines.relevant == {"a": 1000}


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
        ('{"query": "a", "relevant": {"x": 1001}}\n', "less than or equal to 1000; a line is"),
        ('\n{"query": "a", "relevant": {"x": 99999999999999}}\n', "j, line 2: relevant"),
        ('{"query": "a", "relevant": {"x": 1' + 30 * "0" + "}}\n", "j, line 1: relevant"),
        ('{"query": "a", "relevant": ["x", "a\\u0000b"]}\n', "j, line 1: an id has a NUL"),
        ('{"query": "a", "relevant": {"a\\u0000b": 1}}\n', "j, line 1: an id has a NUL"),
        ('{"query": "a", "relevant": ["x"], "id": "\\u0000"}\n', "line 1: an id has a NUL"),
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
        ("q1 0 a 1\nq1 0 b 1001\n", QUERIES, "qrels, line 2: a grade is a number up to 1000"),
        ("q1 0 a 1" + 30 * "0" + "\n", QUERIES, "qrels, line 1: a grade is a number up to"),
        ("q1 0 a " + 5000 * "1" + "\n", QUERIES, "qrels, line 1: a grade is a number up to"),
        ("q1 0 a\0b 1\n", QUERIES, "qrels, line 1: an id has a NUL"),
        (QRELS, QUERIES + "\nq1\tanother\n", "queries, line 6: the id q1 stands on a line before"),
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
