"""Judgments out of the user's own table."""

from random import Random
from zlib import crc32

import pytest

from functions.core.document import Document
from local.memory.table import MemoryTables
from ops import quality_judgments
from ops.output import UsageError
from ops.quality import Judgment
from ops.quality_judgments import KEPT_WORDS, PARTS, TAKEN, Taken, held_out, sampled
from tests.builders import make_pipeline, make_source

CROW = "A thirsty crow found a pitcher with little water.  It dropped\nstones into it, one by one."
FOX = "The hungry fox could not reach the grapes. Sour!"
DOCUMENTS = {
    "crow": Document(text=f"The Crow\n\n{CROW}", type="fable"),
    "fox": Document(text=f"The Fox\n\n{FOX}", type="fable"),
}


def drawn(
    taken: Taken, documents: dict[str, Document] = DOCUMENTS, seed: int = 7
) -> list[Judgment]:
    return held_out(documents, taken, Random(seed))


def test_title_finds_its_document() -> None:
    """R52: the first line, or what stands before every chunk."""
    with_prefix = {"ant": Document("Ants\nThey work.", "fable", chunk_prefix="The Ant\n\n")}

    found = drawn("title", DOCUMENTS | with_prefix)

    assert {one.query: one.relevant for one in found} == {
        "The Crow": {"crow": 1},
        "The Fox": {"fox": 1},
        "The Ant": {"ant": 1},
    }


def test_sentence_finds_its_document() -> None:
    """R52: whole ones of the body, on one line; a short one says nothing."""
    found = {next(iter(one.relevant)): one.query for one in drawn("sentence")}

    assert found["fox"] == "The hungry fox could not reach the grapes."
    assert found["crow"] in (
        "A thirsty crow found a pitcher with little water.",
        "It dropped stones into it, one by one.",
    )


def test_words_are_some_of_a_sentence_in_their_order() -> None:
    """R52: harder to find than the sentence."""
    text = Document("a hungry wolf from deep forests waited near quiet farms until night.", "fable")

    [found] = drawn("words", {"wolf": text})

    words = found.query.split()
    assert len(words) == KEPT_WORDS
    places = [text.text.rstrip(".").split().index(word) for word in words]
    assert places == sorted(places)


def test_sentence_in_two_documents_finds_either() -> None:
    """R52: the other one is no wrong answer."""
    both = DOCUMENTS | {"again": Document(FOX, "fable")}

    found = [one for one in drawn("sentence", both) if "fox" in one.relevant]

    assert [one.relevant for one in found] == [{"fox": 1, "again": 1}]


def test_document_without_a_title_or_sentence_gives_no_question() -> None:
    """R52: a short text, a text of one line."""
    short = {"short": Document("Too short.", "fable")}

    assert [drawn(taken, short) for taken in TAKEN] == [[], [], []]


def test_seed_decides_the_questions() -> None:
    """R52: the same ones again, for a comparison; others with another seed."""
    many = {
        f"{number}": Document(
            f"Sentence number {number} says this much. And {number} more of it.", "a"
        )
        for number in range(50)
    }

    assert drawn("sentence", many) == drawn("sentence", many)
    assert drawn("sentence", many) != drawn("sentence", many, seed=8)


def test_table_is_sampled_from_many_parts() -> None:
    """R52: as many questions as asked for; items that are skipped give none."""
    pipeline = make_pipeline()
    source = make_source(text="{body}", skip_attribute="hidden")
    for number in range(400):
        hidden = {"hidden": True} if number % 2 else {}
        body = f"This is the long sentence with the number {number}."
        pipeline.tables["articles"].put({"id": f"{number}", "body": body, **hidden})
    tables = MemoryTables(pipeline.tables)

    found = sampled(tables, source, most=30, taken="sentence", seed=7)
    again = sampled(tables, source, most=30, taken="sentence", seed=7)
    other = sampled(tables, source, most=30, taken="sentence", seed=8)

    assert len(found) == 30
    assert found == again
    numbers = [int(name) for one in found for name in one.relevant]
    assert all(number % 2 == 0 for number in numbers)
    # Not from the first parts alone, as the table in memory cuts them.
    assert max(crc32(str(number).encode()) % PARTS for number in numbers) > 60
    assert {one.query for one in found} != {one.query for one in other}


def test_empty_table_is_said() -> None:
    """R52: with what else there is."""
    tables = MemoryTables(make_pipeline().tables)

    with pytest.raises(UsageError, match="bring judgments in a file"):
        sampled(tables, make_source(), most=10, taken="title", seed=7)


def test_table_without_a_question_may_be_passed_over() -> None:
    """R52: by a command that asks several tables; its documents are known all the same."""
    pipeline = make_pipeline()
    pipeline.tables["articles"].put({"id": "a", "body": "Too short."})
    tables = MemoryTables(pipeline.tables)

    found = quality_judgments.drawn(tables, make_source(), most=10, taken="sentence", seed=7)

    assert (list(found.documents), list(found.judgments)) == (["a"], [])
